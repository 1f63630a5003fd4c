#include "loader/describe/webdataset_args.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cache/cache_folder.h"
#include "format/webdataset/open_webdataset.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

constexpr std::string_view kFieldsForm = "{\"image\": \"jpg;png\", \"label\": \"cls\"}";

bool is_text_list(const Json& json) {
  return json.is_array() && std::ranges::all_of(json, [](const Json& each) { return each.is_string(); });
}

/// "jpg; .PNG" gives "jpg" and "png".
std::vector<std::string> extensions_in(std::string_view text) {
  std::vector<std::string> extensions;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    std::string extension;
    for (const char c : text.substr(at, end - at)) {
      if (c != ' ') extension.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    if (extension.starts_with('.')) extension.erase(0, 1);
    if (!extension.empty()) extensions.push_back(std::move(extension));
    at = end + 1;
  }
  return extensions;
}

Result<std::vector<ShardField>> parse_fields(const Json& json) {
  std::vector<ShardField> fields;
  if (json.is_null()) return fields;
  if (is_text_list(json)) {
    for (const Json& name : json) {
      std::vector<std::string> extensions = extensions_in(name.get<std::string>());
      if (extensions.size() != 1)
        return invalid_argument(fmt::format("{} in fields is no extension; write {}", json_text(name), kFieldsForm));
      fields.push_back({extensions.front(), extensions, false});
    }
  } else if (json.is_object()) {
    for (const auto& [name, extensions] : json.items()) {
      if (!extensions.is_string())
        return invalid_argument(fmt::format("fields: the extensions of '{}' are no text; write {}", name, kFieldsForm));
      fields.push_back({name, extensions_in(extensions.get<std::string>()), false});
    }
  } else {
    return invalid_argument(fmt::format("fields is {}; write {}", json_text(json), kFieldsForm));
  }
  if (fields.empty()) return invalid_argument("fields is empty; leave it out for all that there are");
  return fields;
}

Status mark_optional(std::vector<ShardField>& fields, const std::vector<std::string>& optional) {
  for (const std::string& name : optional) {
    const auto field = std::ranges::find(fields, name, &ShardField::name);
    if (field == fields.end())
      return invalid_argument(fmt::format("optional: '{}' is not among fields; name it there, too", name));
    field->optional = true;
  }
  return {};
}

/// If names are split at the last dot, extensions cannot have a dot.
Status check_dots(const WebdatasetRequest& request) {
  if (request.split == NameSplit::kFirstDot) return {};
  for (const ShardField& field : request.fields) {
    for (const std::string& extension : field.extensions) {
      if (extension.find('.') == std::string::npos) continue;
      return invalid_argument(fmt::format(
          "'{}' in fields has a dot, and with split=\"last\" extensions have none; leave split out, or give '{}'",
          extension, extension.substr(extension.rfind('.') + 1)));
    }
  }
  return {};
}

/// check_args() reports arguments that are not a size at all.
Result<uint64_t> parse_chunk(const Json& json) {
  const auto bytes = json.is_string() ? parse_byte_size(json.get<std::string>()) : std::nullopt;
  if (!bytes && !json.is_number_integer()) return kShardChunkBytes;
  if (bytes ? *bytes > 0 : json.get<int64_t>() > 0) return bytes ? *bytes : static_cast<uint64_t>(json.get<int64_t>());
  return invalid_argument("chunk= is no number of bytes; give one such as \"8MiB\"");
}

Result<WebdatasetRequest> parse_webdataset(const OpSpec& source) {
  const auto given = [&](const char* name) { return source.args.value(name, Json()); };
  WebdatasetRequest request;
  const Json pattern = given("pattern");
  request.is_list = is_text_list(pattern);
  if (!pattern.is_string() && !request.is_list)
    return invalid_argument(
        "pattern is neither a text nor a list of texts; give a pattern such as 'shards/train-*.tar'");
  request.names = field_list(pattern);
  if (request.names.empty() || request.names.front().empty())
    return invalid_argument("pattern is empty; give a pattern such as 'shards/train-*.tar'");
  FOREBAY_ASSIGN(request.fields, parse_fields(given("fields")));
  const Json optional = given("optional");
  if (optional.is_string() || is_text_list(optional)) request.optional = field_list(optional);
  if (!request.fields.empty()) FOREBAY_RETURN_IF_ERROR(mark_optional(request.fields, request.optional));
  FOREBAY_RETURN_IF_ERROR(check_shard_fields(request.fields));
  FOREBAY_ASSIGN(request.chunk_bytes, parse_chunk(given("chunk")));
  const Json split = given("split");
  if (!split.is_null() && split != "first" && split != "last")
    return invalid_argument(fmt::format("split is {}; give \"first\" or \"last\"", json_text(split)));
  if (split == "last") request.split = NameSplit::kLastDot;
  FOREBAY_RETURN_IF_ERROR(check_dots(request));
  const Json index = given("index");
  if (!index.is_null() && index != "cache" && index != "beside")
    return invalid_argument(fmt::format("index is {}; give \"cache\" or \"beside\"", json_text(index)));
  request.beside = index == "beside";
  return request;
}

}  // namespace

Json webdataset_args(Json pattern, const WebdatasetOptions& options) {
  Json args = {{"pattern", std::move(pattern)}};
  if (!options.fields.empty()) args["fields"] = options.fields;
  if (!options.optional.empty()) args["optional"] = options.optional;
  if (options.chunk != WebdatasetOptions().chunk)
    args["chunk"] = std::visit([](const auto& bytes) { return Json(bytes); }, options.chunk);
  if (options.split != WebdatasetOptions().split) args["split"] = options.split;
  if (options.index != WebdatasetOptions().index) args["index"] = options.index;
  return args;
}

Schema announced_webdataset(const OpSpec& source) {
  const Result<WebdatasetRequest> request = parse_webdataset(source);
  if (request.ok() && !request->fields.empty()) return schema_of(request->fields);
  Schema unknown;
  unknown.open_ended = true;
  return unknown;
}

void check_webdataset(const OpSpec& source, std::vector<Problem>& problems) {
  if (source.args.value("pattern", Json()).is_null()) return;  // check_args() reports it
  const Status status = parse_webdataset(source).status();
  if (status.ok()) return;
  const std::string& text = status.message();
  const size_t split = std::min(text.find("; "), text.size());
  Problems(problems).add(text.substr(0, split),
                         split < text.size() ? text.substr(split + 2) : "see the page on tar shards");
}

Result<std::shared_ptr<const Source>> open_webdataset_step(const OpSpec& source, const OpenSourceOptions& options) {
  FOREBAY_ASSIGN(WebdatasetRequest request, parse_webdataset(source));
  // Without a cache folder (no HOME), headers are read at each opening: slower, but not an error.
  if (const Result<std::string> folder = default_cache_folder(); folder.ok())
    request.kept_indexes = kept_indexes_folder(*folder);
  FOREBAY_ASSIGN(StoreAndPath at, open_store_for(request.names.front(), options));
  FOREBAY_ASSIGN(std::shared_ptr<const Source> opened, open_webdataset(std::move(at), request, options.stop));
  return opened;
}

}  // namespace forebay
