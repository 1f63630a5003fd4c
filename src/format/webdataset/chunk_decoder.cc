#include "format/webdataset/chunk_decoder.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "format/webdataset/tar_walker.h"

namespace forebay {

namespace {

using TarBytes = std::span<const uint8_t>;

std::string_view text_of(TarBytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The file of a row that provides a field.
struct FoundFile {
  TarBytes bytes;
  /// Index of its extension among those of the field; the maximum if there is no file.
  uint32_t rank = UINT32_MAX;
  bool dead_link = false;  ///< a link that leads to no file of the shard
  bool exists() const { return rank != UINT32_MAX; }
};

/// The files of a chunk by row and field.
class ChunkFiles {
 public:
  ChunkFiles(std::span<const ShardField> all, std::span<const size_t> fields) : fields_(fields.size()) {
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::vector<std::string>& extensions = all[fields[i]].extensions;
      for (uint32_t rank = 0; rank < extensions.size(); ++rank)
        fields_by_extension_[extensions[rank]].emplace_back(static_cast<uint32_t>(i), rank);
    }
  }

  void add(const TarSampleName& name, TarBytes data, bool dead_link) {
    if (keys_.empty() || keys_.back() != name.base) {
      keys_.emplace_back(name.base);
      found_.resize(found_.size() + fields_);
      first_extension_.push_back(static_cast<uint32_t>(extensions_.size()));
    }
    const auto number = numbers_.emplace(name.extension, static_cast<uint32_t>(numbers_.size())).first;
    extensions_.push_back(number->second);
    const auto candidates = fields_by_extension_.find(name.extension);
    if (candidates == fields_by_extension_.end()) return;
    for (const auto& [field, rank] : candidates->second) {
      FoundFile& found = found_[found_.size() - fields_ + field];
      // It is unclear which of the two files is meant, so only this row is bad.
      if (rank == found.rank) duplicates_.emplace(static_cast<int64_t>(keys_.size()) - 1, name.extension);
      if (rank < found.rank) found = {data, rank, dead_link};
    }
  }

  int64_t rows() const { return static_cast<int64_t>(keys_.size()); }
  const FoundFile& at(int64_t row, size_t field) const { return found_[static_cast<size_t>(row) * fields_ + field]; }
  const std::vector<std::string>& keys() const { return keys_; }
  /// The extensions that a row has.
  std::vector<std::string_view> extensions(int64_t row) const {
    const auto at = static_cast<size_t>(row);
    const size_t end = at + 1 < first_extension_.size() ? first_extension_[at + 1] : extensions_.size();
    std::vector<std::string_view> names;
    for (size_t i = first_extension_[at]; i < end; ++i) {
      for (const auto& [name, number] : numbers_) {
        if (number == extensions_[i]) names.push_back(name);
      }
    }
    return names;
  }
  /// Rows that have an extension more than once, with that extension.
  const std::map<int64_t, std::string>& duplicates() const { return duplicates_; }

 private:
  const size_t fields_;
  std::unordered_map<std::string, std::vector<std::pair<uint32_t, uint32_t>>> fields_by_extension_;
  std::vector<std::string> keys_;
  std::vector<FoundFile> found_;
  // Used for messages: the extensions of all files as numbers, and where those of each row begin.
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<uint32_t> extensions_, first_extension_;
  std::map<int64_t, std::string> duplicates_;
};

constexpr std::string_view kDotRule =
    "names end at the first dot, and all behind it is the extension; with split=\"last\" they end at the last one";

Status changed_shard_error(const std::string& why) {
  return corrupt(fmt::format("{}; the shard was changed since it was opened: open it again", why));
}

/// The bytes that the links of a chunk lead to, in the order of the links.
class LinkedBytes {
 public:
  LinkedBytes(const ShardChunks& chunks, size_t chunk, TarBytes bytes, std::span<const TarBytes> linked)
      : own_(bytes), begin_(chunks.chunks[chunk].begin), links_(chunks.links_of(chunk)),
        ranges_(chunks.linked_ranges(chunk)), linked_(linked) {}

  struct Next {
    TarBytes bytes;
    bool dead_link = false;
  };
  /// The bytes of the next link.
  Result<Next> next() {
    if (at_ == links_.size()) return changed_shard_error("more links stand there than in the index");
    const ShardChunks::Link& link = links_[at_++];
    if (!link.found) return Next{{}, true};
    const TarBytes file = with_header(link);
    // If the shard was replaced during the run, another header or none is found here.
    const Result<TarHeaderBlock> header = file.empty() ? corrupt("") : parse_tar_header(file.first(kTarBlockBytes));
    if (!header.ok() || (header->size != 0 && header->size != link.bytes))
      return changed_shard_error("a link leads to another file than in the index");
    return Next{file.subspan(kTarBlockBytes), false};
  }

 private:
  TarBytes with_header(const ShardChunks::Link& link) const {
    const uint64_t from = link.data - kTarBlockBytes, length = link.bytes + kTarBlockBytes;
    const auto range = std::ranges::find(ranges_, ByteRange{from, length});
    if (range == ranges_.end()) return own_.subspan(from - begin_, length);
    const auto number = static_cast<size_t>(range - ranges_.begin());
    return number < linked_.size() && linked_[number].size() == length ? linked_[number] : TarBytes();
  }

  const TarBytes own_;
  const uint64_t begin_;
  const std::span<const ShardChunks::Link> links_;
  const std::vector<ByteRange> ranges_;
  const std::span<const TarBytes> linked_;
  size_t at_ = 0;
};

Result<ChunkFiles> find_files(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields, TarBytes bytes,
                              std::span<const TarBytes> linked) {
  const ShardChunks::Chunk& range = chunks.chunks[chunk];
  ChunkFiles files(chunks.fields, fields);
  LinkedBytes links(chunks, chunk, bytes, linked);
  TarWalker walker(range.begin, chunks.shards[range.shard].size);
  while (walker.at() < range.end) {
    TarMember member;
    FOREBAY_ASSIGN(const TarWalker::Step step, walker.next({range.begin, bytes}, member));
    // All headers of the chunk must be in its bytes. Another entry or an end means that the shard
    // changed after it was indexed.
    if (step != TarWalker::Step::kMember || member.data + member.size > range.end)
      return changed_shard_error(
          fmt::format("the files between bytes {} and {} are not those of the index", range.begin, range.end));
    if (member.kind != TarMember::Kind::kFile && !member.is_link()) continue;
    FOREBAY_ASSIGN(const std::optional<TarSampleName> name, split_sample_name(member.name, chunks.index_options.split));
    if (name && member.is_link()) {
      FOREBAY_ASSIGN(const LinkedBytes::Next target, links.next());
      files.add(*name, target.bytes, target.dead_link);
    } else if (name) {
      files.add(*name, bytes.subspan(member.data - range.begin, member.size), false);
    }
    // Checked at once, because a replaced shard may have millions of files here.
    if (files.rows() > chunks.rows(chunk)) break;
  }
  if (files.rows() != chunks.rows(chunk))
    return changed_shard_error(
        fmt::format("{} samples stand where the index has {}", files.rows(), chunks.rows(chunk)));
  return files;
}

std::optional<int64_t> whole_number(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
  // from_chars() rejects a plus sign that other readers accept. "+-1" remains invalid.
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Fills the columns of a chunk one after the other.
class ColumnsBuilder {
 public:
  ColumnsBuilder(const ShardChunks& chunks, size_t chunk, const ChunkFiles& files)
      : chunks_(chunks), chunk_(chunk), files_(files) {
    columns_.rows = files.rows();
    for (const auto& [row, extension] : files.duplicates())
      mark_bad(row, corrupt(fmt::format("has more than one file '{}'", extension)));
  }

  Status add(size_t column, size_t field) {
    const ShardField& spec = chunks_.fields[field];
    if (spec.kind() == ExtensionKind::kInteger)
      add_numbers(column, spec);
    else
      FOREBAY_RETURN_IF_ERROR(add_strings(column, field));
    for (int64_t row = 0; row < columns_.rows; ++row) {
      const FoundFile& found = files_.at(row, column);
      if (!spec.optional && !found.exists()) mark_bad(row, missing_field_error(row, spec));
      if (found.dead_link)
        mark_bad(row, not_found(fmt::format("'{}' is a link to a file that is not in the shard", spec.name)));
    }
    if (spec.optional) add_mask(column);
    return {};
  }

  Columns with_keys(Schema schema) && {
    uint64_t total = 0;
    for (const std::string& key : files_.keys()) total += key.size();
    ColumnValues values = strings(total);
    for (int64_t row = 0; row < columns_.rows; ++row) {
      const std::string& key = files_.keys()[static_cast<size_t>(row)];
      append(values, row, {reinterpret_cast<const uint8_t*>(key.data()), key.size()});
    }
    columns_.values.push_back(std::move(values));
    columns_.schema = std::move(schema);
    if (!bad_.empty()) columns_.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad_));
    return std::move(columns_);
  }

 private:
  const ShardChunks::Shard& shard() const { return chunks_.shards[chunks_.chunks[chunk_].shard]; }

  void mark_bad(int64_t row, Status why) {
    bad_.emplace(row, std::move(why).with_key(fmt::format("{}: {}", chunks_.store->display_name(shard().key),
                                                          files_.keys()[static_cast<size_t>(row)])));
  }

  /// Error for a missing field: names the extensions that the sample has, and the rule by which
  /// they do not match.
  Status missing_field_error(int64_t row, const ShardField& spec) const {
    const std::vector<std::string_view> has = files_.extensions(row);
    return corrupt(fmt::format("has no {}; it has {}{}", fmt::join(spec.extensions, " or "), fmt::join(has, ", "),
                               missing_field_hint(spec, has)));
  }

  std::string missing_field_hint(const ShardField& spec, std::span<const std::string_view> has) const {
    const auto ends_alike = [](std::string_view one, std::string_view other) {
      return one.ends_with(fmt::format(".{}", other)) || other.ends_with(fmt::format(".{}", one));
    };
    for (const std::string_view extension : has) {
      const bool alike =
          std::ranges::any_of(spec.extensions, [&](const auto& one) { return ends_alike(extension, one); });
      if (alike) return fmt::format("; {}", kDotRule);
    }
    // In this case optional= would turn one sample into two.
    if (shard().apart > 0) {
      return fmt::format(
          "; files of a sample must follow each other in the tar, and in this shard {} the name of an earlier one: "
          "write the shard again sorted by name (tar --sort=name)",
          shard().apart == 1 ? std::string("one sample bears") : fmt::format("{} samples bear", shard().apart));
    }
    return "; give all extensions that may stand for it, as in fields={\"image\": \"jpg;png\"}, or, where samples may "
           "lack it, name the field in optional=";
  }

  ColumnValues strings(uint64_t bytes) const {
    ColumnValues column;
    column.values = Buffer::allocate(bytes);
    column.offsets = Buffer::allocate(static_cast<size_t>(columns_.rows + 1) * sizeof(int64_t));
    reinterpret_cast<int64_t*>(column.offsets.data())[0] = 0;
    return column;
  }

  static void append(ColumnValues& column, int64_t row, TarBytes bytes) {
    auto* const offsets = reinterpret_cast<int64_t*>(column.offsets.data());
    if (!bytes.empty()) std::memcpy(column.values.data() + offsets[row], bytes.data(), bytes.size());
    offsets[row + 1] = offsets[row] + static_cast<int64_t>(bytes.size());
  }

  Status add_strings(size_t column, size_t field) {
    uint64_t total = 0;
    for (int64_t row = 0; row < columns_.rows; ++row) total += files_.at(row, column).bytes.size();
    // Only the indexed size was reserved.
    if (total != chunks_.bytes_of_fields(chunk_)[field])
      return changed_shard_error("the files have other sizes than in the index");
    ColumnValues values = strings(total);
    const bool text = chunks_.fields[field].kind() == ExtensionKind::kText;
    for (int64_t row = 0; row < columns_.rows; ++row) {
      const TarBytes bytes = files_.at(row, column).bytes;
      append(values, row, bytes);
      if (text && !is_utf8(bytes)) mark_bad(row, corrupt(fmt::format("'{}' is not UTF-8", chunks_.fields[field].name)));
    }
    columns_.values.push_back(std::move(values));
    return {};
  }

  void add_numbers(size_t column, const ShardField& spec) {
    ColumnValues values;
    values.values = Buffer::allocate(static_cast<size_t>(columns_.rows) * sizeof(int64_t));
    for (int64_t row = 0; row < columns_.rows; ++row) {
      const FoundFile& found = files_.at(row, column);
      const std::optional<int64_t> value = whole_number(text_of(found.bytes));
      if (found.exists() && !found.dead_link && !value)
        mark_bad(row, corrupt(fmt::format("'{}' is no whole number of 64 bits", spec.name)));
      reinterpret_cast<int64_t*>(values.values.data())[row] = value.value_or(0);
    }
    columns_.values.push_back(std::move(values));
  }

  void add_mask(size_t column) {
    ColumnValues mask;
    mask.values = Buffer::allocate(static_cast<size_t>(columns_.rows));
    for (int64_t row = 0; row < columns_.rows; ++row) mask.values.data()[row] = files_.at(row, column).exists() ? 1 : 0;
    columns_.values.push_back(std::move(mask));
  }

  const ShardChunks& chunks_;
  const size_t chunk_;
  const ChunkFiles& files_;
  Columns columns_;
  std::map<int64_t, Status> bad_;
};

}  // namespace

uint64_t decoded_shard_bytes(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields) {
  const auto rows = static_cast<uint64_t>(chunks.rows(chunk));
  uint64_t bytes = chunks.chunks[chunk].name_bytes + (rows + 1) * sizeof(int64_t);
  for (const size_t field : fields) {
    const ShardField& spec = chunks.fields[field];
    const bool number = spec.kind() == ExtensionKind::kInteger;
    bytes +=
        (rows + 1) * sizeof(int64_t) + (spec.optional ? rows : 0) + (number ? 0 : chunks.bytes_of_fields(chunk)[field]);
  }
  // Memory for the table of files during decoding. Each file has at least one header block.
  const uint64_t files = (chunks.chunks[chunk].end - chunks.chunks[chunk].begin) / kTarBlockBytes;
  return bytes + rows * (sizeof(std::string) + sizeof(uint32_t) + fields.size() * sizeof(FoundFile)) +
         files * sizeof(uint32_t);
}

Result<Columns> decode_shard_chunk(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields,
                                   TarBytes bytes, std::span<const TarBytes> linked, WorkMemory&) {
  FOREBAY_ASSIGN(const ChunkFiles files, find_files(chunks, chunk, fields, bytes, linked));
  uint64_t names = 0;
  for (const std::string& key : files.keys()) names += key.size();
  if (names != chunks.chunks[chunk].name_bytes)
    return changed_shard_error("the samples have other names than in the index");
  ColumnsBuilder maker(chunks, chunk, files);
  std::vector<ShardField> chosen;
  for (size_t i = 0; i < fields.size(); ++i) {
    FOREBAY_RETURN_IF_ERROR(maker.add(i, fields[i]));
    chosen.push_back(chunks.fields[fields[i]]);
  }
  return std::move(maker).with_keys(schema_of(chosen));
}

}  // namespace forebay
