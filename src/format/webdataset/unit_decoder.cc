#include "format/webdataset/unit_decoder.h"

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

/// What a row has for a field.
struct FoundFile {
  TarBytes bytes;
  uint32_t rank = UINT32_MAX;  ///< its extension among those of the field; the greatest: there is none
  bool there() const { return rank != UINT32_MAX; }
};

/// The files of a unit by row and field.
class UnitFiles {
 public:
  UnitFiles(std::span<const ShardField> all, std::span<const size_t> fields) : fields_(fields.size()) {
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::vector<std::string>& extensions = all[fields[i]].extensions;
      for (uint32_t rank = 0; rank < extensions.size(); ++rank)
        takers_[extensions[rank]].emplace_back(static_cast<uint32_t>(i), rank);
    }
  }

  void add(const TarSampleName& name, TarBytes data) {
    if (keys_.empty() || keys_.back() != name.base) {
      keys_.emplace_back(name.base);
      found_.resize(found_.size() + fields_);
    }
    const auto takers = takers_.find(name.extension);
    if (takers == takers_.end()) return;
    for (const auto& [field, rank] : takers->second) {
      FoundFile& found = found_[found_.size() - fields_ + field];
      // Which of the two is meant nobody knows: the row is bad, the others are not.
      if (rank == found.rank) twice_.emplace(static_cast<int64_t>(keys_.size()) - 1, name.extension);
      if (rank < found.rank) found = {data, rank};
    }
  }

  int64_t rows() const { return static_cast<int64_t>(keys_.size()); }
  const FoundFile& at(int64_t row, size_t field) const { return found_[static_cast<size_t>(row) * fields_ + field]; }
  const std::vector<std::string>& keys() const { return keys_; }
  /// Rows that have an extension more than once.
  const std::map<int64_t, std::string>& twice() const { return twice_; }

 private:
  const size_t fields_;
  std::unordered_map<std::string, std::vector<std::pair<uint32_t, uint32_t>>> takers_;
  std::vector<std::string> keys_;
  std::vector<FoundFile> found_;
  std::map<int64_t, std::string> twice_;
};

Status changed(const std::string& why) {
  return corrupt(fmt::format("{}; the shard was changed since it was opened: open it again", why));
}

Result<UnitFiles> find_files(const ShardUnits& units, size_t unit, std::span<const size_t> fields, TarBytes bytes) {
  const ShardUnits::Unit& place = units.units[unit];
  UnitFiles files(units.fields, fields);
  TarWalker walker(place.begin, units.shards[place.shard].size);
  while (walker.at() < place.end) {
    TarMember member;
    FOREBAY_ASSIGN(const TarWalker::Step step, walker.next({place.begin, bytes}, member));
    // All headers of the unit are in its bytes; one that is not, or an end, was not there when the index was made.
    if (step != TarWalker::Step::kMember || member.data + member.size > place.end)
      return changed(
          fmt::format("the files between bytes {} and {} are not those of the index", place.begin, place.end));
    if (!member.regular) continue;
    FOREBAY_ASSIGN(const std::optional<TarSampleName> name, split_sample_name(member.name));
    if (name) files.add(*name, bytes.subspan(member.data - place.begin, member.size));
    // As soon as it is clear: a shard that was replaced may have millions of files here.
    if (files.rows() > units.rows(unit)) break;
  }
  if (files.rows() != units.rows(unit))
    return changed(fmt::format("{} samples stand where the index has {}", files.rows(), units.rows(unit)));
  return files;
}

std::optional<int64_t> whole_number(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
  // from_chars() takes no plus, which other readers do; "+-1" stays none.
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Fills columns, one after the other.
class ColumnsMaker {
 public:
  ColumnsMaker(const ShardUnits& units, size_t unit, const UnitFiles& files)
      : units_(units), unit_(unit), files_(files) {
    columns_.rows = files.rows();
    for (const auto& [row, extension] : files.twice())
      spoil(row, fmt::format("has more than one file '{}'", extension));
  }

  Status add(size_t column, size_t field) {
    const ShardField& about = units_.fields[field];
    if (about.kind() == ExtensionKind::kInteger)
      add_numbers(column, about);
    else
      FOREBAY_RETURN_IF_ERROR(add_strings(column, field));
    for (int64_t row = 0; row < columns_.rows; ++row) {
      if (!about.optional && !files_.at(row, column).there())
        spoil(row, fmt::format("has no {}; it may be missing where the field is named in optional=",
                               fmt::join(about.extensions, " or ")));
    }
    if (about.optional) add_mask(column);
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
  void spoil(int64_t row, const std::string& why) {
    const auto& shard = units_.shards[units_.units[unit_].shard];
    bad_.emplace(row, corrupt(why).with_key(fmt::format("{}: {}", units_.store->display_name(shard.key),
                                                        files_.keys()[static_cast<size_t>(row)])));
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
    // What was reserved is what the index says.
    if (total != units_.bytes_of_fields(unit_)[field]) return changed("the files have other sizes than in the index");
    ColumnValues values = strings(total);
    const bool text = units_.fields[field].kind() == ExtensionKind::kText;
    for (int64_t row = 0; row < columns_.rows; ++row) {
      const TarBytes bytes = files_.at(row, column).bytes;
      append(values, row, bytes);
      if (text && !is_utf8(bytes)) spoil(row, fmt::format("'{}' is not UTF-8", units_.fields[field].name));
    }
    columns_.values.push_back(std::move(values));
    return {};
  }

  void add_numbers(size_t column, const ShardField& about) {
    ColumnValues values;
    values.values = Buffer::allocate(static_cast<size_t>(columns_.rows) * sizeof(int64_t));
    for (int64_t row = 0; row < columns_.rows; ++row) {
      const FoundFile& found = files_.at(row, column);
      const std::optional<int64_t> value = whole_number(text_of(found.bytes));
      if (found.there() && !value) spoil(row, fmt::format("'{}' is no whole number of 64 bits", about.name));
      reinterpret_cast<int64_t*>(values.values.data())[row] = value.value_or(0);
    }
    columns_.values.push_back(std::move(values));
  }

  void add_mask(size_t column) {
    ColumnValues mask;
    mask.values = Buffer::allocate(static_cast<size_t>(columns_.rows));
    for (int64_t row = 0; row < columns_.rows; ++row) mask.values.data()[row] = files_.at(row, column).there() ? 1 : 0;
    columns_.values.push_back(std::move(mask));
  }

  const ShardUnits& units_;
  const size_t unit_;
  const UnitFiles& files_;
  Columns columns_;
  std::map<int64_t, Status> bad_;
};

}  // namespace

uint64_t decoded_shard_bytes(const ShardUnits& units, size_t unit, std::span<const size_t> fields) {
  const auto rows = static_cast<uint64_t>(units.rows(unit));
  uint64_t bytes = units.units[unit].name_bytes + (rows + 1) * sizeof(int64_t);
  for (const size_t field : fields) {
    const ShardField& about = units.fields[field];
    const bool number = about.kind() == ExtensionKind::kInteger;
    bytes +=
        (rows + 1) * sizeof(int64_t) + (about.optional ? rows : 0) + (number ? 0 : units.bytes_of_fields(unit)[field]);
  }
  // What is found of the files while they are decoded.
  return bytes + rows * (sizeof(std::string) + fields.size() * sizeof(FoundFile));
}

Result<Columns> decode_shard_unit(const ShardUnits& units, size_t unit, std::span<const size_t> fields, TarBytes bytes,
                                  WorkMemory&) {
  FOREBAY_ASSIGN(const UnitFiles files, find_files(units, unit, fields, bytes));
  uint64_t names = 0;
  for (const std::string& key : files.keys()) names += key.size();
  if (names != units.units[unit].name_bytes) return changed("the samples have other names than in the index");
  ColumnsMaker maker(units, unit, files);
  std::vector<ShardField> chosen;
  for (size_t i = 0; i < fields.size(); ++i) {
    FOREBAY_RETURN_IF_ERROR(maker.add(i, fields[i]));
    chosen.push_back(units.fields[fields[i]]);
  }
  return std::move(maker).with_keys(schema_of(chosen));
}

}  // namespace forebay
