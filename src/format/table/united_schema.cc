#include "format/table/united_schema.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "format/table/known_fields.h"
#include "format/table/schema_checks.h"
#include "format/table/schema_differences.h"

namespace forebay {

namespace {

using Role = TableColumn::Role;

Field flag_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kBool;
  field.fetched = true;
  return field;
}

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

/// Carries out unite_schemas(): picks the columns of the table, finds them in each file, and reports
/// what differs. Used once.
class SchemaUniter {
 public:
  explicit SchemaUniter(const UniteInput& input) : in_(input), known_(input.files), differences_(input.names) {}

  Result<UnitedSchema> run() {
    FOREBAY_RETURN_IF_ERROR(check_partition_names(in_));
    FOREBAY_RETURN_IF_ERROR(check_option_names(in_, known_));
    FOREBAY_RETURN_IF_ERROR(in_.columns ? pick_named() : pick_all());
    for (const std::string& name : in_.filter_columns) FOREBAY_RETURN_IF_ERROR(check_filter_column(name));
    warn_twofold_names(in_, known_);
    // All files are processed before errors are reported, so that one message lists all
    // differences.
    for (size_t file = 0; file < in_.files.size(); ++file) add_layout(file);
    if (!refused_.ok()) return refused_;
    if (!differences_.empty()) return differences_.error(in_.first_decides);
    return std::move(united_);
  }

 private:
  /// Adds a column with its masks and lengths, or a mask or lengths alone.
  void add(const std::string& name) {
    if (!taken_.insert(name).second) return;
    const KnownField& known = *known_.find(name);
    united_.columns.push_back({known_.field(known), TableColumn::From::kFile, 0, known.role, {}});
    if (known.role != Role::kValues) return;
    fill_and_mask(name, known);
    for (const std::string& dependent : known.dependents) add(dependent);
  }

  /// Completes the values that were added last: sets their fill, and adds a mask if they need one that
  /// no file has.
  void fill_and_mask(const std::string& name, const KnownField& known) {
    const TableFile& file = *in_.files[known.file];
    const TableFile::Origin origin = file.origin(known.at);
    ChosenFill chosen = choose_fill(in_.reading.nulls, {name, origin.structs, field_column_type(file, known.at)});
    const NullPolicy::Kind kind = chosen.fill.kind;
    united_.columns.back().fill = std::move(chosen.fill);
    if (in_.first_decides || !known_.some_file_lacks(name)) return;
    if (refused_.ok()) refused_ = std::move(chosen.status);
    const std::string mask = name + std::string(NullPolicy::kMaskEnding);
    if (kind == NullPolicy::Kind::kMask && known_.find(mask) == nullptr && taken_.insert(mask).second)
      united_.columns.push_back({flag_field(mask), TableColumn::From::kFile, 0, Role::kMask, {}});
  }

  /// Adds a partition column, and its mask if one is needed.
  void add_partition(size_t index) {
    const PartitionColumn& partition = in_.partitions[index];
    if (!taken_.insert(partition.name).second) return;
    Field field;
    field.name = partition.name;
    field.kind = partition.is_integer ? FieldKind::kTensor : FieldKind::kText;
    field.dtype = partition.is_integer ? DType::kInt64 : DType::kUint8;
    united_.columns.push_back({field, TableColumn::From::kFolder, index, Role::kValues, {}});
    if (in_.reading.nulls.kind != NullPolicy::Kind::kMask || !partition.has_nulls()) return;
    Field valid = flag_field(field.name + std::string(NullPolicy::kMaskEnding));
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
    return united_.columns.empty() ? no_readable_column(in_) : Status();
  }

  bool first_has(const std::string& name) const { return known_.index_of(0, name).has_value(); }

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
        return unknown_column(in_, known_, "columns", name);
      }
      if (in_.first_decides && known_.find(name) != nullptr && !first_has(name)) note_lacking(0, name);
    }
    return {};
  }

  /// Checks that a column of a filter exists, and has it compared between the files.
  Status check_filter_column(const std::string& name) {
    if (is_partition(in_, name)) return {};
    const KnownField* known = known_.find(name);
    if (known == nullptr) return unknown_column(in_, known_, "filter", name);
    if (in_.first_decides && !first_has(name)) note_lacking(0, name);
    if (!taken_.contains(name))
      only_compared_.push_back({known_.field(*known), TableColumn::From::kFile, 0, known->role, {}});
    return {};
  }

  /// Reports that a file lacks a column that another file has.
  void note_lacking(size_t file, const std::string& name) {
    const KnownField& known = *known_.find(name);
    const std::string type = field_type_text(*in_.files[known.file], known.at);
    differences_.add(file, known.file, fmt::format("has no column '{}' ({}), which", name, type), "has");
  }

  /// Finds the columns in one file, and records differences from the others.
  void add_layout(size_t file) {
    if (const size_t first = known_.first_alike(file); first != file) {
      united_.layout_of.push_back(united_.layout_of[first]);
      differences_.repeat(first);
      return;
    }
    differences_.begin_file(file);
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

  /// Returns the place of the column in the layout of the file, and records differences.
  size_t find(size_t file, const TableColumn& column) {
    const TableFile& table = *in_.files[file];
    const std::string& name = column.field.name;
    const std::optional<size_t> at = known_.index_of(file, name);
    const KnownField* known = known_.find(name);
    if (!at || (is_all_null(table.origin(*at)) && !(known != nullptr && known->untyped)))
      return place_of_absent(file, column, at.has_value());
    const Role role = field_role(table, *at);
    if (known == nullptr) {
      differences_.add(
          file, file,
          fmt::format("has a column '{}', which is what null=fb.NULL_MASK calls the mask of a column that", name),
          "or others lack");
    } else if (role != known->role) {
      note_two_roles(file, *at, *known);
    } else if (!table.schema()[*at].same_type(column.field) ||
               table.time_type(*at) != in_.files[known->file]->time_type(known->at)) {
      differences_.add(file, known->file,
                       fmt::format("has the column '{}' as {}, where", name, field_type_text(table, *at)),
                       fmt::format("has it as {}", field_type_text(*in_.files[known->file], known->at)));
      if (column.role == Role::kValues) differences_.add_type_conflict(name);
    }
    return *at;
  }

  /// Reports a name that is a column in one file, and a mask or lengths in another.
  void note_two_roles(size_t file, size_t at, const KnownField& known) {
    const bool is_column = field_role(*in_.files[file], at) == Role::kValues;
    const size_t with = is_column ? known.file : file, without = is_column ? file : known.file;
    const TableFile& masked = *in_.files[with];
    const size_t mask = is_column ? known.at : at;
    const std::string& of = masked.schema()[masked.origin(mask).values].name;
    differences_.add(without, with, fmt::format("has a column '{}' of its own, which", masked.schema()[mask].name),
                     fmt::format("has as the {} of '{}'", masked.is_mask(mask) ? "mask" : "lengths", of));
  }

  /// The place in the layout of a column that a file lacks, or, with `null_only`, has only as null.
  size_t place_of_absent(size_t file, const TableColumn& column, bool null_only) {
    const std::string& name = column.field.name;
    if (column.role == Role::kMask) {
      const std::string owner = known_.owner_of(name);
      // A file in which the column cannot be null has no mask for it.
      if (!known_.lacks(file, owner)) {
        const Shape& shape = column.field.shape;
        if (!shape.fully_known())
          differences_.add(file, file,
                           fmt::format("has no nulls in the lists of '{}', where others do: their masks", owner),
                           "lacks");
        return kAllValid;
      }
      return kNowhere;
    }
    if (in_.first_decides && !null_only) note_lacking(file, name);
    return kNowhere;
  }

  /// Reports a file that does not belong to the table: one that shares no column with the first, or
  /// that has additional columns where the first file decides.
  void note_unrelated_file(size_t file) {
    if (file == 0 || known_.first_alike(file) != file) return;
    const Schema& schema = in_.files[file]->schema();
    if (in_.first_decides && !in_.columns) {
      for (size_t at = 0; at < schema.size(); ++at) {
        if (!taken_.contains(schema[at].name) && field_role(*in_.files[file], at) != Role::kMask)
          differences_.add(
              file, 0,
              fmt::format("has a column '{}' ({}), which", schema[at].name, field_type_text(*in_.files[file], at)),
              "has not");
      }
      return;
    }
    const bool empty = in_.files[file]->groups() == 0 || in_.files.front()->groups() == 0;
    const bool any = std::ranges::any_of(
        schema, [&](const Field& field) { return in_.files.front()->schema().find(field.name).has_value(); });
    if (!any && !empty && !in_.columns) differences_.add(file, 0, "has none of the columns that", "has");
  }

  const UniteInput& in_;
  const KnownFields known_;
  UnitedSchema united_;
  std::vector<TableColumn> only_compared_;  ///< columns that only filters use
  std::set<std::string> taken_;             ///< names of united_.columns
  Status refused_;                          ///< error of the first unsupported field
  SchemaDifferences differences_;
};

/// The common type of a column in all files; nullopt if there is none.
std::optional<ColumnType> united_type(const UniteInput& input, const KnownFields& known, const std::string& name) {
  std::optional<ColumnType> united;
  for (size_t file = 0; file < input.files.size(); ++file) {
    if (known.first_alike(file) != file) continue;
    const TableFile& table = *input.files[file];
    const auto at = known.index_of(file, name);
    if (!at || table.origin(*at).untyped) continue;
    const ColumnType type = field_column_type(table, *at);
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
      const bool here = at && table.origin(*at).values == *at && !is_all_null(table.origin(*at));
      if (here && field_column_type(table, *at) != *united) types[file].emplace_back(name, *united);
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
