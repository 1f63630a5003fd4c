#include "format/webdataset/open_webdataset.h"

#include "format/webdataset/tar_index_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"
#include "format/webdataset/left_out_members.h"
#include "format/webdataset/read_indexes.h"
#include "format/webdataset/shard_source.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 1> kTarEndings = {".tar"};

/// All extensions in byte order, each with the first shard that has it.
std::map<std::string, size_t> extensions_of(std::span<const TarIndex> indexes) {
  std::map<std::string, size_t> extensions;
  for (size_t i = 0; i < indexes.size(); ++i) {
    for (const std::string& extension : indexes[i].extensions) extensions.emplace(extension, i);
  }
  return extensions;
}

Status pickle_error(const std::string& extension, const std::string& shard) {
  return unsupported(
             fmt::format(
                 "has files '.{}', and reading a pickle runs what it says, so none is read; name the other fields "
                 "in fields= to leave it out",
                 extension))
      .with_key(shard);
}

constexpr size_t kMostFields = 256;

Result<std::vector<ShardField>> found_fields(const DataFiles& files, std::span<const TarIndex> indexes,
                                             std::span<const std::string> optional) {
  std::vector<ShardField> fields;
  for (const auto& [extension, shard] : extensions_of(indexes)) {
    const std::string name = files.store->display_name(files.files[shard].key);
    // An error is better than skipping it: a silently missing field would be noticed much later.
    if (kind_of_extension(extension) == ExtensionKind::kPickle) return pickle_error(extension, name);
    fields.push_back({extension, {extension}, std::ranges::find(optional, extension) != optional.end()});
  }
  if (fields.size() > kMostFields)
    return unsupported(fmt::format(
        "the shards have {} different extensions, '{}' and '{}' among them; name the fields in fields=", fields.size(),
        fields[0].name, fields[1].name));
  return fields;
}

constexpr size_t kExtensionsNamed = 12;

std::string some_of(std::span<const std::string> known) {
  if (known.empty()) return "none";
  const std::string named = fmt::format("{}", fmt::join(known.first(std::min(known.size(), kExtensionsNamed)), ", "));
  return known.size() <= kExtensionsNamed ? named
                                          : fmt::format("{} and {} more", named, known.size() - kExtensionsNamed);
}

/// Explains why an existing extension with the same ending does not match the requested one.
std::string dot_rule(const ShardField& field, std::span<const std::string> known, NameSplit split) {
  if (split == NameSplit::kLastDot) return {};
  for (const std::string& extension : field.extensions) {
    const auto longer = std::ranges::find_if(known, [&](const auto& one) { return one.ends_with("." + extension); });
    if (longer != known.end())
      return fmt::format(
          "; names end at the first dot, so that '{}' is an extension; split=\"last\" ends them at the last one",
          *longer);
  }
  return {};
}

/// A name that occurs in no shard is a mistake, and not a field that all samples lack.
Status check_found(std::span<const ShardField> fields, std::span<const std::string> optional,
                   std::span<const TarIndex> indexes, NameSplit split) {
  std::vector<std::string> known;
  for (const auto& [extension, shard] : extensions_of(indexes)) known.push_back(extension);
  const auto is_known = [&](const std::string& name) { return std::ranges::find(known, name) != known.end(); };
  for (const ShardField& field : fields) {
    if (field.optional || std::ranges::any_of(field.extensions, is_known)) continue;
    return invalid_argument(fmt::format(
        "no file in the shards has the extension {}; those there are: {}{}{}", fmt::join(field.extensions, " or "),
        some_of(known), suggestion_text(field.extensions.front(), known), dot_rule(field, known, split)));
  }
  for (const std::string& name : optional) {
    if (std::ranges::none_of(fields, [&](const ShardField& field) { return field.name == name; }))
      return invalid_argument(fmt::format("optional: there is no field '{}'{}", name, suggestion_text(name, known)));
  }
  return {};
}

void hash_index(Hasher& hasher, std::string_view key, uint64_t size, const TarIndex& index) {
  const Hash128 content = index.content_hash();
  hasher.update(fmt::format("{}:{} {} {} {}\n", key.size(), key, size, index.samples.size(), content.to_string()));
}

Hash128 version_of(const DataFiles& files, std::span<const TarIndex> indexes, std::span<const ShardField> fields,
                   uint64_t chunk_bytes) {
  Hasher hasher;
  // The folder is not hashed, so the same shards elsewhere are the same data set.
  for (size_t i = 0; i < indexes.size(); ++i)
    hash_index(hasher, std::string_view(files.files[i].key).substr(files.base.size()), *files.files[i].size,
               indexes[i]);
  for (const Field& field : schema_of(fields)) hasher.update(field.to_string() + "\n");
  hasher.update_value(chunk_bytes);
  return hasher.digest();
}

}  // namespace

Status check_shard_fields(std::span<const ShardField> fields) {
  std::set<std::string> names;
  for (const ShardField& field : fields) {
    if (field.extensions.empty())
      return invalid_argument(fmt::format("the field '{}' has no extension; give one", field.name));
    for (const std::string& extension : field.extensions) {
      const ExtensionKind kind = kind_of_extension(extension);
      if (kind == ExtensionKind::kPickle)
        return unsupported(fmt::format(
            "'{}' is a pickle, and reading one runs what it says; write the values as npy, json or txt", extension));
      if (kind != field.kind())
        return invalid_argument(
            fmt::format("the field '{}' would be of two types, as '{}' and '{}' are; make two fields of them",
                        field.name, field.extensions.front(), extension));
    }
    if (field.name.empty()) return invalid_argument("a field has an empty name; give it one");
  }
  for (const Field& field : schema_of(fields)) {
    if (!names.insert(field.name).second)
      return invalid_argument(
          fmt::format("there would be two fields '{}'; give one of them another name with fields=", field.name));
  }
  return {};
}

Result<std::shared_ptr<const ChunkSource>> open_webdataset(StoreAndPath at, const WebdatasetRequest& request,
                                                           std::stop_token stop) {
  FOREBAY_ASSIGN(DataFiles files, find_data_files(std::move(at), {request.is_list, request.names, kTarEndings}, stop));
  if (!request.is_list)
    std::erase_if(files.files, [](const DataFile& file) { return file.key.ends_with(TarIndexFiles::kIndexExtension); });
  if (request.beside && files.store->remote())
    return invalid_argument(
        "index=\"beside\" is for shards in local folders; leave it out, and the index is kept on this host");
  const ShardIndexOptions index_options = {request.kept_indexes, request.beside, request.split};
  FOREBAY_ASSIGN(std::vector<TarIndex> indexes, read_shard_indexes(files, index_options, stop));
  auto chunks = std::make_shared<ShardChunks>();
  chunks->store = files.store;
  chunks->index_options = index_options;
  chunks->fields = request.fields;
  if (chunks->fields.empty()) {
    FOREBAY_ASSIGN(chunks->fields, found_fields(files, indexes, request.optional));
  }
  FOREBAY_RETURN_IF_ERROR(check_shard_fields(chunks->fields));
  const bool count_split_samples = std::ranges::any_of(chunks->fields, &ShardField::optional);
  FOREBAY_RETURN_IF_ERROR(warn_left_out_members(files, indexes, count_split_samples));
  FOREBAY_RETURN_IF_ERROR(check_found(chunks->fields, request.optional, indexes, request.split));
  chunks->version = version_of(files, indexes, chunks->fields, request.chunk_bytes);
  for (size_t i = 0; i < indexes.size(); ++i) {
    const DataFile& file = files.files[i];
    // Each index is freed as soon as its shard is divided, because all of them together take many
    // times the memory.
    chunks->add({file.key, *file.size, file.version, 0}, std::exchange(indexes[i], {}), request.chunk_bytes);
  }
  return std::shared_ptr<const ChunkSource>(std::make_shared<ShardSource>(std::move(chunks)));
}

}  // namespace forebay
