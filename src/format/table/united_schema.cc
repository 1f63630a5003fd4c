#include "format/table/united_schema.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"

namespace forebay {

namespace {

constexpr size_t kDifferencesNamed = 10;
constexpr OmissionReason kTwofoldNames{
    "twofold_names", "name is that of a column and of a struct or its member, and the column is read",
    "names are those of columns and of structs or their members, and the columns are read",
    "rename one of them where the table is written"};
constexpr std::string_view kMaskEnding = "_valid";

using Role = TableColumn::Role;

std::string shape_text(const Field& field) { return field.to_string().substr(field.name.size() + 2); }

Field flag_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kBool;
  field.fetched = true;
  return field;
}

FieldKind element_kind(FieldKind kind) {
  if (kind == FieldKind::kTextList) return FieldKind::kText;
  return kind == FieldKind::kBytesList ? FieldKind::kBytes : kind;
}

ColumnType type_of(const TableFile& file, size_t at) {
  const Field& field = file.schema()[at];
  return {element_kind(field.kind), field.dtype, file.time_type(at)};
}

std::string type_text(const TableFile& file, size_t at) {
  const Field& field = file.schema()[at];
  const auto time = file.time_type(at);
  return time ? fmt::format("{} {}", column_type_word({FieldKind::kTensor, field.dtype, time}), field.shape.to_string())
              : shape_text(field);
}

/// True if a file knows only that the column is null. Inside lists the lists themselves are known.
bool all_null(const TableFile::Origin& origin) { return origin.untyped && !origin.in_lists; }

/// A field that occurs in some file.
struct Known {
  size_t file = 0;  ///< the first file that has it, preferably with a type
  size_t at = 0;    ///< its index there
  Role role = Role::kValues;
  bool untyped = false;
  std::vector<std::string> dependents;  ///< for values: names of their masks and lengths
};

/// All fields of all files by name, in the order of first appearance.
class KnownFields {
 public:
  explicit KnownFields(std::span<const std::shared_ptr<const TableFile>> files) : files_(files) {
    for (size_t file = 0; file < files.size(); ++file) {
      // Files of the same shape share the schema object.
      if (seen_.emplace(&files[file]->schema(), file).second) add(file);
    }
    // A struct that is null everywhere looks like a column without members.
    std::erase_if(order_, [&](const std::string& name) {
      const bool is_struct = fields_.at(name).untyped && structs_.contains(name);
      if (is_struct) fields_.erase(name);
      return is_struct;
    });
  }

  const std::vector<std::string>& order() const { return order_; }
  const Known* find(const std::string& name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : &found->second;
  }
  bool is_struct(const std::string& name) const { return structs_.contains(name); }
  /// The columns in a struct, in order.
  const std::vector<std::string>& members(const std::string& name) const {
    static const std::vector<std::string> none;
    const auto found = structs_.find(name);
    return found == structs_.end() ? none : found->second;
  }
  /// The index of the field in a file. Most files have a field at the same index.
  std::optional<size_t> index_of(size_t file, const std::string& name) const {
    const Schema& schema = files_[file]->schema();
    const Known* known = find(name);
    if (known != nullptr && known->at < schema.size() && schema[known->at].name == name) return known->at;
    return schema.find(name);
  }
  /// The first file with the same schema object.
  size_t first_alike(size_t file) const { return seen_.at(&files_[file]->schema()); }
  const Field& field(const Known& known) const { return files_[known.file]->schema()[known.at]; }

 private:
  void add(size_t file) {
    const Schema& schema = files_[file]->schema();
    for (size_t at = 0; at < schema.size(); ++at) {
      const TableFile::Origin origin = files_[file]->origin(at);
      const bool values = origin.values == at;
      Known known{file,
                  at,
                  values                      ? Role::kValues
                  : files_[file]->is_mask(at) ? Role::kMask
                                              : Role::kLengths,
                  all_null(origin),
                  {}};
      const auto [entry, is_new] = fields_.emplace(schema[at].name, known);
      if (is_new) {
        order_.push_back(schema[at].name);
        if (values) {
          for (const std::string& name : origin.structs) structs_[name].push_back(schema[at].name);
        } else if (const auto owner = fields_.find(schema[origin.values].name); owner != fields_.end()) {
          add_dependent(owner->second, schema[at].name);
        }
      } else if (entry->second.untyped && !known.untyped) {
        known.dependents = std::move(entry->second.dependents);
        entry->second = std::move(known);
      }
    }
  }

  // The mask follows the values, whichever file has it first.
  static void add_dependent(Known& owner, const std::string& name) {
    const bool first = name.ends_with(kMaskEnding) && !name.ends_with("_items_valid");
    owner.dependents.insert(first ? owner.dependents.begin() : owner.dependents.end(), name);
  }

  std::span<const std::shared_ptr<const TableFile>> files_;
  std::map<std::string, Known> fields_;
  std::vector<std::string> order_;
  std::map<std::string, std::vector<std::string>> structs_;
  std::map<const Schema*, size_t> seen_;
};

/// The columns in use, derived from the requested names.
std::set<std::string> columns_in_use(const KnownFields& known, const UniteInput& input) {
  std::set<std::string> wanted;
  const auto want = [&](const std::string& name) {
    if (known.find(name) != nullptr)
      wanted.insert(name);
    else
      wanted.insert(known.members(name).begin(), known.members(name).end());
  };
  for (const std::string& name : input.columns ? *input.columns : known.order()) want(name);
  for (const std::string& name : input.filter_columns) want(name);
  return wanted;
}

class SchemaUniter {
 public:
  explicit SchemaUniter(const UniteInput& input) : in_(input), known_(input.files) {}

  Result<UnitedSchema> run() {
    FOREBAY_RETURN_IF_ERROR(check_partitions());
    FOREBAY_RETURN_IF_ERROR(check_names());
    FOREBAY_RETURN_IF_ERROR(in_.columns ? pick_named() : pick_all());
    for (const std::string& name : in_.filter_columns) FOREBAY_RETURN_IF_ERROR(check_filter_column(name));
    warn_twofold_names();
    // All files are processed before errors are reported, so that one message lists all
    // differences.
    for (size_t file = 0; file < in_.files.size(); ++file) add_layout(file);
    if (!refused_.ok()) return refused_;
    if (!differences_.empty()) return differences_error();
    return std::move(united_);
  }

 private:
  Status check_partitions() const {
    for (const PartitionColumn& partition : in_.partitions) {
      const bool masked = in_.reading.nulls.kind == NullPolicy::Kind::kMask && partition.has_nulls();
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

  bool is_folder(const std::string& name) const {
    return std::ranges::find(in_.partitions, name, &PartitionColumn::name) != in_.partitions.end();
  }

  /// Checks that every name in null= and types= occurs in some file.
  Status check_names() const {
    const auto check = [&](std::string_view arg, const std::string& name, bool structs) -> Status {
      if (known_.find(name) != nullptr || is_folder(name)) return {};
      if (!structs && known_.is_struct(name))
        return invalid_argument(
            fmt::format("{}= has a value for '{}', which is a struct; name its members, such as '{}'", arg, name,
                        known_.members(name).front()));
      if (known_.is_struct(name)) return {};
      return invalid_argument(fmt::format("{}= has a value for the column '{}', which the table does not have{}", arg,
                                          name, suggestion_text(name, known_.order())));
    };
    for (const auto& [name, value] : in_.reading.nulls.by_column) FOREBAY_RETURN_IF_ERROR(check("null", name, true));
    for (const std::string& name : in_.reading.nulls.masked) FOREBAY_RETURN_IF_ERROR(check("null", name, true));
    for (const auto& [name, type] : in_.reading.types) FOREBAY_RETURN_IF_ERROR(check("types", name, false));
    return {};
  }

  bool lacks_column(size_t file, const std::string& name) const {
    const auto at = known_.index_of(file, name);
    return !at || all_null(in_.files[file]->origin(*at));
  }

  bool some_file_lacks(const std::string& name) const {
    for (size_t file = 0; file < in_.files.size(); ++file) {
      if (known_.first_alike(file) == file && lacks_column(file, name)) return true;
    }
    return false;
  }

  /// Adds a column with its masks and lengths, or a mask or lengths alone.
  void add(const std::string& name) {
    if (!taken_.insert(name).second) return;
    const Known& known = *known_.find(name);
    TableColumn column{known_.field(known), TableColumn::From::kFile, 0, known.role, {}};
    if (known.role == Role::kValues) {
      const TableFile& file = *in_.files[known.file];
      ChosenFill chosen =
          choose_fill(in_.reading.nulls, {name, file.origin(known.at).structs, type_of(file, known.at)});
      column.fill = std::move(chosen.fill);
      const bool lacking = !in_.first_decides && some_file_lacks(name);
      if (lacking && refused_.ok()) refused_ = std::move(chosen.status);
      const std::string mask = name + std::string(kMaskEnding);
      united_.columns.push_back(std::move(column));
      // If no file has the column's mask, the files that lack the column still need one.
      if (lacking && united_.columns.back().fill.kind == NullPolicy::Kind::kMask && known_.find(mask) == nullptr &&
          taken_.insert(mask).second)
        united_.columns.push_back({flag_field(mask), TableColumn::From::kFile, 0, Role::kMask, {}});
      for (const std::string& dependent : known.dependents) add(dependent);
      return;
    }
    united_.columns.push_back(std::move(column));
  }

  void add_partition(size_t index) {
    const PartitionColumn& partition = in_.partitions[index];
    if (!taken_.insert(partition.name).second) return;
    Field field;
    field.name = partition.name;
    field.kind = partition.is_integer ? FieldKind::kTensor : FieldKind::kText;
    field.dtype = partition.is_integer ? DType::kInt64 : DType::kUint8;
    united_.columns.push_back({field, TableColumn::From::kFolder, index, Role::kValues, {}});
    if (in_.reading.nulls.kind != NullPolicy::Kind::kMask || !partition.has_nulls()) return;
    Field valid = flag_field(field.name + std::string(kMaskEnding));
    valid.fetched = false;
    taken_.insert(valid.name);
    united_.columns.push_back({std::move(valid), TableColumn::From::kFolderValid, index, Role::kMask, {}});
  }

  Status pick_all() {
    for (const std::string& name : known_.order()) {
      // The first file's columns are the table's. Additional columns of other files are reported
      // below.
      if (!in_.first_decides || first_has(name)) add(name);
    }
    for (size_t i = 0; i < in_.partitions.size(); ++i) add_partition(i);
    return united_.columns.empty() ? nothing_readable() : Status();
  }

  bool first_has(const std::string& name) const { return known_.index_of(0, name).has_value(); }

  Status nothing_readable() const {
    std::string why;
    for (const auto& [name, reason] : in_.files.front()->unmapped()) why += fmt::format("; '{}': {}", name, reason);
    return unsupported(fmt::format("'{}' has no column that can be read{}", in_.names.front(), why));
  }

  Status pick_named() {
    if (in_.columns->empty()) return invalid_argument("columns=[] names no column; leave it out for all of them");
    for (const std::string& name : *in_.columns) {
      const auto partition = std::ranges::find(in_.partitions, name, &PartitionColumn::name);
      // A column of exactly that name takes precedence over the members of a struct of that name.
      if (known_.find(name) != nullptr) {
        add(name);
      } else if (known_.is_struct(name)) {
        for (const std::string& member : known_.members(name)) add(member);
      } else if (partition != in_.partitions.end()) {
        add_partition(static_cast<size_t>(partition - in_.partitions.begin()));
      } else if (!taken_.contains(name)) {
        return missing("columns", name);
      }
      if (in_.first_decides && known_.find(name) != nullptr && !first_has(name)) note_missing_from_first(name);
    }
    return {};
  }

  /// Warns if a column was chosen over a struct or its member of the same full name, because this
  /// is not visible otherwise.
  void warn_twofold_names() const {
    if (in_.warnings == nullptr) return;
    std::set<std::string> names;
    for (size_t file = 0; file < in_.files.size(); ++file) {
      if (known_.first_alike(file) != file) continue;
      for (const auto& [name, why] : in_.files[file]->unmapped()) {
        if (known_.find(name) != nullptr) names.insert(name);
      }
    }
    for (const std::string& name : known_.order()) {
      if (known_.is_struct(name)) names.insert(name);
    }
    for (const std::string& name : names) in_.warnings->add(kTwofoldNames, name);
  }

  /// Checks that a column of a filter exists, and has it compared between the files.
  Status check_filter_column(const std::string& name) {
    if (is_folder(name)) return {};
    const Known* known = known_.find(name);
    if (known == nullptr) return missing("filter", name);
    if (in_.first_decides && !first_has(name)) note_missing_from_first(name);
    if (!taken_.contains(name))
      only_compared_.push_back({known_.field(*known), TableColumn::From::kFile, 0, known->role, {}});
    return {};
  }

  /// Reports a column that the first file lacks, if the first file decides.
  void note_missing_from_first(const std::string& name) {
    const Known& known = *known_.find(name);
    differ(0, known.file,
           fmt::format("has no column '{}' ({}), which", name, type_text(*in_.files[known.file], known.at)), "has");
  }

  /// The error for a column that no file has.
  Status missing(std::string_view who, const std::string& name) const {
    for (size_t file = 0; file < in_.files.size(); ++file) {
      if (known_.first_alike(file) != file) continue;
      for (const auto& [unmapped, why] : in_.files[file]->unmapped()) {
        if (unmapped == name || unmapped.starts_with(name + "."))
          return unsupported(fmt::format("{}: the column '{}' cannot be read: {}", who, unmapped, why));
      }
    }
    std::vector<std::string> known = known_.order();
    for (const PartitionColumn& partition : in_.partitions) known.push_back(partition.name);
    const std::string nearest = suggestion_text(name, known);
    constexpr size_t kShown = 40;
    const bool long_list = known.size() > kShown;
    if (long_list) known.resize(kShown);
    return invalid_argument(fmt::format("{}: there is no column '{}'{}; there are: {}{}", who, name, nearest,
                                        fmt::join(known, ", "), long_list ? ", …" : ""));
  }

  /// Finds the columns in one file, and records differences from the others.
  void add_layout(size_t file) {
    if (const size_t first = known_.first_alike(file); first != file) {
      united_.layout_of.push_back(united_.layout_of[first]);
      for (const auto& difference : noted_[first]) ++differences_[difference].second;
      return;
    }
    current_ = file;
    ColumnLayout layout;
    for (const TableColumn& column : united_.columns) {
      const size_t at = column.from == TableColumn::From::kFile ? find(file, column) : kNowhere;
      if (in_file(at) && refused_.ok()) refused_ = in_.files[file]->field_status(at);
      layout.push_back(at);
    }
    // The position of these columns does not matter; differences are recorded.
    for (const TableColumn& column : only_compared_) find(file, column);
    note_unrelated_file(file);
    // There are few layouts, because most tables come from one writer.
    const auto known = std::ranges::find(united_.layouts, layout);
    united_.layout_of.push_back(static_cast<uint32_t>(known - united_.layouts.begin()));
    if (known == united_.layouts.end()) united_.layouts.push_back(std::move(layout));
  }

  size_t find(size_t file, const TableColumn& column) {
    const TableFile& table = *in_.files[file];
    const std::string& name = column.field.name;
    const std::optional<size_t> at = known_.index_of(file, name);
    const Known* known = known_.find(name);
    if (!at || (all_null(table.origin(*at)) && !(known != nullptr && known->untyped)))
      return place_of_absent(file, column, at.has_value());
    const Role role = role_in(table, *at);
    if (known == nullptr) {
      differ(file, file,
             fmt::format("has a column '{}', which is what null=fb.NULL_MASK calls the mask of a column that", name),
             "or others lack");
    } else if (role != known->role) {
      note_two_roles(file, *at, *known);
    } else if (!table.schema()[*at].same_type(column.field) ||
               table.time_type(*at) != in_.files[known->file]->time_type(known->at)) {
      differ(file, known->file, fmt::format("has the column '{}' as {}, where", name, type_text(table, *at)),
             fmt::format("has it as {}", type_text(*in_.files[known->file], known->at)));
      if (column.role == Role::kValues && conflicting_column_.empty()) conflicting_column_ = name;
    }
    return *at;
  }

  static Role role_in(const TableFile& table, size_t at) {
    if (table.origin(at).values == at) return Role::kValues;
    return table.is_mask(at) ? Role::kMask : Role::kLengths;
  }

  void note_two_roles(size_t file, size_t at, const Known& known) {
    const bool is_column = role_in(*in_.files[file], at) == Role::kValues;
    const size_t with = is_column ? known.file : file, without = is_column ? file : known.file;
    const TableFile& masked = *in_.files[with];
    const size_t mask = is_column ? known.at : at;
    const std::string& of = masked.schema()[masked.origin(mask).values].name;
    differ(without, with, fmt::format("has a column '{}' of its own, which", masked.schema()[mask].name),
           fmt::format("has as the {} of '{}'", masked.is_mask(mask) ? "mask" : "lengths", of));
  }

  /// The place in the layout of a column that a file lacks, or, with `null_only`, has only as null.
  size_t place_of_absent(size_t file, const TableColumn& column, bool null_only) {
    const std::string& name = column.field.name;
    if (column.role == Role::kMask) {
      const std::optional<std::string> owner = owner_of(name);
      // A file in which the column cannot be null has no mask for it.
      if (owner && !lacks_column(file, *owner)) {
        const Shape& shape = column.field.shape;
        if (!shape.fully_known())
          differ(file, file, fmt::format("has no nulls in the lists of '{}', where others do: their masks", *owner),
                 "lacks");
        return kAllValid;
      }
      return kNowhere;
    }
    if (in_.first_decides && !null_only) {
      const Known& known = *known_.find(name);
      differ(file, known.file,
             fmt::format("has no column '{}' ({}), which", name, type_text(*in_.files[known.file], known.at)), "has");
    }
    return kNowhere;
  }

  /// The column that a mask belongs to.
  std::optional<std::string> owner_of(const std::string& mask) const {
    if (const Known* known = known_.find(mask); known != nullptr) {
      const TableFile& file = *in_.files[known->file];
      return file.schema()[file.origin(known->at).values].name;
    }
    return mask.substr(0, mask.size() - kMaskEnding.size());
  }

  /// Reports a file that does not belong to the table: one that shares no column with the first, or
  /// that has additional columns where the first file decides.
  void note_unrelated_file(size_t file) {
    if (file == 0 || known_.first_alike(file) != file) return;
    const Schema& schema = in_.files[file]->schema();
    if (in_.first_decides && !in_.columns) {
      for (size_t at = 0; at < schema.size(); ++at) {
        if (!taken_.contains(schema[at].name) && role_in(*in_.files[file], at) != Role::kMask)
          differ(file, 0,
                 fmt::format("has a column '{}' ({}), which", schema[at].name, type_text(*in_.files[file], at)),
                 "has not");
      }
      return;
    }
    const bool empty = in_.files[file]->groups() == 0 || in_.files.front()->groups() == 0;
    const bool any = std::ranges::any_of(
        schema, [&](const Field& field) { return in_.files.front()->schema().find(field.name).has_value(); });
    if (!any && !empty && !in_.columns) differ(file, 0, "has none of the columns that", "has");
  }

  /// Records "'b' <how> 'a' <end>" once for all files that differ in the same way.
  void differ(size_t file, size_t other, std::string how, std::string end) {
    const std::pair key(std::move(how), fmt::format("'{}'{}{}", in_.names[other], end.empty() ? "" : " ", end));
    auto& [first, count] = differences_[key];
    if (count++ == 0) first = file;
    noted_[current_].push_back(key);
  }

  Status differences_error() const {
    std::string text = "the files are not one table:";
    size_t named = 0;
    for (const auto& [difference, files] : differences_) {
      if (named++ == kDifferencesNamed) break;
      text += fmt::format("\n  '{}' {} {}", in_.names[files.first], difference.first, difference.second);
      if (files.second > 1) text += fmt::format(" (so have {} more files)", files.second - 1);
    }
    if (differences_.size() > kDifferencesNamed)
      text += fmt::format("\n  and {} more differences", differences_.size() - kDifferencesNamed);
    if (!conflicting_column_.empty() && !in_.first_decides)
      text +=
          fmt::format("\nGive the column a type with types={{'{}': 'string'}} or another type that holds all values",
                      conflicting_column_);
    return invalid_argument(text +
                            "\nName the columns that all have alike with columns=, or make a pipeline for each kind");
  }

  const UniteInput& in_;
  const KnownFields known_;
  UnitedSchema united_;
  std::vector<TableColumn> only_compared_;
  std::set<std::string> taken_;
  std::string conflicting_column_;  ///< first column whose types cannot be united
  Status refused_;                  // error of the first unsupported field
  using Difference = std::pair<std::string, std::string>;
  // Maps to the first such file, and their number.
  std::map<Difference, std::pair<size_t, size_t>> differences_;
  std::map<size_t, std::vector<Difference>> noted_;  // by file
  size_t current_ = 0;                               // the file being processed
};

/// The common type of a column in all files; nullopt if there is none.
std::optional<ColumnType> united_type(const UniteInput& input, const KnownFields& known, const std::string& name) {
  std::optional<ColumnType> united;
  for (size_t file = 0; file < input.files.size(); ++file) {
    if (known.first_alike(file) != file) continue;
    const TableFile& table = *input.files[file];
    const auto at = known.index_of(file, name);
    if (!at || table.origin(*at).untyped) continue;
    const ColumnType type = type_of(table, *at);
    const std::optional<ColumnType> both = united ? common_type(*united, type) : type;
    if (!both || (input.first_decides && united && *both != *united)) return std::nullopt;
    united = both;
  }
  return united;
}

}  // namespace

std::vector<ColumnTypes> common_types(const UniteInput& input) {
  const KnownFields known(input.files);
  std::vector<ColumnTypes> types(input.files.size(), input.reading.types);
  for (const std::string& name : columns_in_use(known, input)) {
    if (known.find(name)->role != Role::kValues || find_type(input.reading.types, name) != nullptr) continue;
    const std::optional<ColumnType> united = united_type(input, known, name);
    if (!united) continue;
    for (size_t file = 0; file < input.files.size(); ++file) {
      if (known.first_alike(file) != file) continue;
      const TableFile& table = *input.files[file];
      const auto at = known.index_of(file, name);
      const bool here = at && table.origin(*at).values == *at && !all_null(table.origin(*at));
      if (here && type_of(table, *at) != *united) types[file].emplace_back(name, *united);
    }
  }
  for (size_t file = 0; file < input.files.size(); ++file) {
    const size_t first = known.first_alike(file);
    if (first != file) types[file] = types[first];
  }
  return types;
}

Result<UnitedSchema> unite_schemas(const UniteInput& input) { return SchemaUniter(input).run(); }

}  // namespace forebay
