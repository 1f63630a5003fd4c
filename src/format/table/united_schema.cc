#include "format/table/united_schema.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"

namespace forebay {

namespace {

constexpr size_t kDifferencesNamed = 10;
constexpr std::string_view kMaskEnding = "_valid";

bool same_type(const Field& a, const Field& b) {
  return a.kind == b.kind && (a.kind != FieldKind::kTensor || (a.dtype == b.dtype && a.shape == b.shape));
}

std::string type_of(const Field& field) { return field.to_string().substr(field.name.size() + 2); }

Field flag_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kBool;
  field.fetched = true;
  return field;
}

bool is_flag(const Field& field) {
  return field.kind == FieldKind::kTensor && field.dtype == DType::kBool && field.shape.rank() == 0;
}

class Uniting {
 public:
  explicit Uniting(const UniteInput& input) : in_(input), first_(input.files.front()->schema()) {
    for (size_t i = 0; i < first_.size(); ++i) place_.emplace(first_[i].name, i);
  }

  Result<UnitedSchema> run() {
    FOREBAY_RETURN_IF_ERROR(check_partitions());
    if (in_.nulls == NullPolicy::Kind::kMask) find_masks();
    FOREBAY_RETURN_IF_ERROR(in_.columns ? pick_named() : pick_all());
    for (const std::string& name : in_.looked_at) FOREBAY_RETURN_IF_ERROR(look_at(name));
    // All files first, so that one message tells all that differs.
    for (size_t file = 0; file < in_.files.size(); ++file) lay_out(file);
    if (!refused_.ok()) return refused_;
    if (!differences_.empty()) return told();
    return std::move(united_);
  }

 private:
  Status check_partitions() const {
    for (const PartitionColumn& partition : in_.partitions) {
      const bool masked = in_.nulls == NullPolicy::Kind::kMask && partition.has_nulls();
      const std::string mask = partition.name + std::string(kMaskEnding);
      for (size_t file = 0; file < in_.files.size(); ++file) {
        if (masked && in_.files[file]->schema().find(mask)) {
          return invalid_argument(fmt::format(
              "'{}' is a column of '{}', and what null=fb.NULL_MASK calls the mask that says where '{}' is null, which "
              "is the name of a folder; rename the column or the folder, or give null= a value",
              mask, in_.names[file], partition.name));
        }
        if (!in_.files[file]->schema().find(partition.name)) continue;
        return invalid_argument(fmt::format(
            "'{0}' is both a column of '{1}' and the name of its folder ('{0}=…'); rename the folder, or give "
            "the files as patterns that begin below it",
            partition.name, in_.names[file]));
      }
    }
    return {};
  }

  /// A column may be null in some files only; its mask is there for all.
  void find_masks() {
    for (size_t file = 0; file < in_.files.size(); ++file) {
      const Schema& schema = in_.files[file]->schema();
      for (size_t i = 0; i < schema.size(); ++i) {
        const std::string& name = schema[i].name;
        if (!name.ends_with(kMaskEnding) || !is_flag(schema[i]) || !in_.files[file]->is_mask(i)) continue;
        masks_.emplace(name.substr(0, name.size() - kMaskEnding.size()), file);
      }
    }
  }

  void add(Field field) {
    if (!taken_.insert(field.name).second) return;
    const std::string name = field.name;
    united_.columns.push_back({std::move(field), TableColumn::From::kFile, 0});
    // Beside its column, where whoever takes all columns expects it.
    if (masks_.contains(name)) add(flag_field(name + std::string(kMaskEnding)));
    if (in_.nulls != NullPolicy::Kind::kMask) return;
    const auto items = place_.find(name + "_items_valid");
    if (items != place_.end() && in_.files.front()->is_mask(items->second)) add(first_[items->second]);
  }

  void add_partition(size_t index) {
    const PartitionColumn& partition = in_.partitions[index];
    if (!taken_.insert(partition.name).second) return;
    Field field;
    field.name = partition.name;
    field.kind = partition.is_integer ? FieldKind::kTensor : FieldKind::kText;
    field.dtype = partition.is_integer ? DType::kInt64 : DType::kUint8;
    united_.columns.push_back({field, TableColumn::From::kFolder, index});
    if (in_.nulls != NullPolicy::Kind::kMask || !partition.has_nulls()) return;
    Field valid = flag_field(field.name + std::string(kMaskEnding));
    valid.fetched = false;
    taken_.insert(valid.name);
    united_.columns.push_back({std::move(valid), TableColumn::From::kFolderValid, index});
  }

  Status pick_all() {
    for (const Field& field : first_) add(field);
    for (size_t i = 0; i < in_.partitions.size(); ++i) add_partition(i);
    return united_.columns.empty() ? nothing_readable() : Status();
  }

  Status nothing_readable() const {
    std::string why;
    for (const auto& [name, reason] : in_.files.front()->unmapped()) why += fmt::format("; '{}': {}", name, reason);
    return unsupported(fmt::format("'{}' has no column that can be read{}", in_.names.front(), why));
  }

  Status pick_named() {
    if (in_.columns->empty()) return invalid_argument("columns=[] names no column; leave it out for all of them");
    for (const std::string& name : *in_.columns) {
      const size_t before = united_.columns.size();
      const std::string members = name + ".";
      for (const Field& field : first_) {
        if (field.name == name || field.name.starts_with(members)) add(field);
      }
      for (size_t i = 0; i < in_.partitions.size(); ++i) {
        if (in_.partitions[i].name == name) add_partition(i);
      }
      if (united_.columns.size() == before && !taken_.contains(name)) FOREBAY_RETURN_IF_ERROR(missing("columns", name));
    }
    return {};
  }

  Status look_at(const std::string& name) {
    if (std::ranges::any_of(in_.partitions, [&](const auto& partition) { return partition.name == name; })) return {};
    const auto at = place_.find(name);
    if (at == place_.end()) return missing("filter", name);
    if (!taken_.contains(name)) only_compared_.push_back(first_[at->second]);
    return {};
  }

  /// A column that the first file does not have.
  Status missing(std::string_view who, const std::string& name) {
    for (size_t file = 1; file < in_.files.size(); ++file) {
      const Schema& schema = in_.files[file]->schema();
      if (const std::optional<size_t> at = schema.find(name)) {
        differ(0, file, fmt::format("has no column '{}' ({}), which", name, type_of(schema[*at])), "has");
        return {};
      }
    }
    for (const auto& [unmapped, why] : in_.files.front()->unmapped()) {
      if (unmapped == name || unmapped.starts_with(name + "."))
        return unsupported(fmt::format("{}: the column '{}' cannot be read: {}", who, unmapped, why));
    }
    std::vector<std::string> known;
    for (const Field& field : first_) known.push_back(field.name);
    for (const PartitionColumn& partition : in_.partitions) known.push_back(partition.name);
    const std::string nearest = suggestion_text(name, known);
    constexpr size_t kShown = 40;
    const bool long_list = known.size() > kShown;
    if (long_list) known.resize(kShown);
    return invalid_argument(fmt::format("{}: there is no column '{}'{}; there are: {}{}", who, name, nearest,
                                        fmt::join(known, ", "), long_list ? ", …" : ""));
  }

  /// Finds the columns in one file, and notes what differs from the first.
  void lay_out(size_t file) {
    const Schema& schema = in_.files[file]->schema();
    ColumnLayout layout;
    for (const TableColumn& column : united_.columns) {
      const size_t at = column.from == TableColumn::From::kFile ? find(file, column.field) : kNowhere;
      if (at != kNowhere && refused_.ok()) refused_ = in_.files[file]->field_status(at);
      layout.push_back(at);
    }
    // Where it stands is nobody's business; what differs is noted.
    for (const Field& field : only_compared_) find(file, field);
    if (!in_.columns && file > 0) note_further(file, schema);
    // Few: the files of a table mostly come from one writer.
    const auto known = std::ranges::find(united_.layouts, layout);
    united_.layout_of.push_back(static_cast<uint32_t>(known - united_.layouts.begin()));
    if (known == united_.layouts.end()) united_.layouts.push_back(std::move(layout));
  }

  size_t find(size_t file, const Field& wanted) {
    const Schema& schema = in_.files[file]->schema();
    const auto first = place_.find(wanted.name);
    // Mostly fields stand where those of the first file do.
    const bool there =
        first != place_.end() && first->second < schema.size() && schema[first->second].name == wanted.name;
    const std::optional<size_t> at = there ? std::optional(first->second) : schema.find(wanted.name);
    const auto mask = wanted.name.ends_with(kMaskEnding)
                          ? masks_.find(wanted.name.substr(0, wanted.name.size() - kMaskEnding.size()))
                          : masks_.end();
    const bool is_mask = mask != masks_.end();
    if (!at) {
      // A file in which a column cannot be null has no mask for it.
      if (!is_mask) differ(file, 0, fmt::format("has no column '{}' ({}), which", wanted.name, type_of(wanted)), "has");
      return kNowhere;
    }
    const Field& found = schema[*at];
    if (is_mask && !in_.files[file]->is_mask(*at)) {
      differ(file, mask->second, fmt::format("has a column '{}' of its own, which", wanted.name),
             fmt::format("has as the mask of '{}'", mask->first));
    } else if (!same_type(found, wanted)) {
      differ(file, 0, fmt::format("has the column '{}' as {}, where", wanted.name, type_of(found)),
             fmt::format("has it as {}", type_of(wanted)));
    } else if (first != place_.end() &&
               in_.files[file]->time_type(*at) != in_.files.front()->time_type(first->second)) {
      differ(file, 0, fmt::format("has the times of '{}' in another unit than", wanted.name), "");
    }
    return *at;
  }

  void note_further(size_t file, const Schema& schema) {
    // Where all of the first file's fields were found, a file of no more fields has no others.
    if (schema.size() <= first_.size() && differences_.empty() && masks_.empty()) return;
    for (const Field& field : schema) {
      if (!taken_.contains(field.name))
        differ(file, 0, fmt::format("has a column '{}' ({}), which", field.name, type_of(field)), "has not");
    }
  }

  /// "'b' <how> 'a' <end>", once for all files that differ in the same way.
  void differ(size_t file, size_t other, std::string how, std::string end) {
    auto& [first, count] =
        differences_[{std::move(how), fmt::format("'{}'{}{}", in_.names[other], end.empty() ? "" : " ", end)}];
    if (count++ == 0) first = file;
  }

  Status told() const {
    std::string text = "the files are not one table:";
    size_t named = 0;
    for (const auto& [difference, files] : differences_) {
      if (named++ == kDifferencesNamed) break;
      text += fmt::format("\n  '{}' {} {}", in_.names[files.first], difference.first, difference.second);
      if (files.second > 1) text += fmt::format(" (so have {} more files)", files.second - 1);
    }
    if (differences_.size() > kDifferencesNamed)
      text += fmt::format("\n  and {} more differences", differences_.size() - kDifferencesNamed);
    return invalid_argument(text +
                            "\nName the columns that all have alike with columns=, or make a pipeline for each kind");
  }

  const UniteInput& in_;
  const Schema& first_;
  std::map<std::string, size_t> place_;  ///< in first_
  UnitedSchema united_;
  std::vector<Field> only_compared_;
  std::set<std::string> taken_;
  std::map<std::string, size_t> masks_;  ///< columns that have one → the first file where they do
  Status refused_;                       // the first field that cannot be given
  std::map<std::pair<std::string, std::string>, std::pair<size_t, size_t>> differences_;  // → first such file, how many
};

}  // namespace

Result<UnitedSchema> unite_schemas(const UniteInput& input) { return Uniting(input).run(); }

}  // namespace forebay
