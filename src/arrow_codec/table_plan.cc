#include "arrow_codec/table_plan.h"

#include <algorithm>
#include <map>

#include <arrow/type.h>
#include <fmt/format.h>

namespace forebay {

namespace {

using arrow::Type;

constexpr size_t kLargestRank = Shape::kMaxRank - 1;  // a batch adds one

bool list_like(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
    case Type::MAP: return true;
    default: return false;
  }
}

/// State of the walk from a column down its type tree.
struct PathState {
  std::string name;
  std::vector<PathStep> steps;
  std::vector<std::string> structs;
  bool extension = false;         // an extension type is on the path
  bool in_extension = false;      // Leaf::in_extension
  bool nullable = false;          // at the current level
  std::vector<bool> levels = {};  // of the levels above
};

class Planner {
 public:
  explicit Planner(const TableReading& reading) : reading_(reading) {}

  Status add_column(size_t column, const arrow::Field& field) {
    column_ = column;
    return enter(field.type(), {field.name(), {}, {}, false, false, field.nullable(), {}});
  }
  std::vector<Leaf> leaves;
  std::vector<std::pair<std::string, std::string>> unmapped;

 private:
  Status enter(const std::shared_ptr<arrow::DataType>& type, PathState path);
  Status walk(const std::shared_ptr<arrow::DataType>& type, PathState path);
  Status members(const arrow::DataType& type, const PathState& path);
  Status elements(const arrow::DataType& type, PathState path);
  Status leaf(const std::shared_ptr<arrow::DataType>& type, PathState path);
  Status set_shape(Leaf& leaf, const PathState& path);
  void choose_type(Leaf& leaf) const;

  const TableReading& reading_;
  size_t column_ = 0;
  int number_ = 0;
};

/// Extension types are replaced by their storage types.
Status Planner::enter(const std::shared_ptr<arrow::DataType>& type, PathState path) {
  const std::shared_ptr<arrow::DataType> stored = storage_type(type);
  path.extension = path.extension || stored != type;
  return walk(stored, std::move(path));
}

Status Planner::walk(const std::shared_ptr<arrow::DataType>& type, PathState path) {
  if (type->id() == Type::STRUCT) return members(*type, path);
  if (list_like(*type) || type->id() == Type::FIXED_SIZE_LIST) return elements(*type, std::move(path));
  return leaf(type, std::move(path));
}

Status Planner::members(const arrow::DataType& type, const PathState& path) {
  if (type.num_fields() == 0) unmapped.emplace_back(path.name, "a struct without members");
  for (int i = 0; i < type.num_fields(); ++i) {
    const arrow::Field& member = *type.field(i);
    PathState next = path;
    next.structs.push_back(path.name);
    next.in_extension = path.in_extension || (path.extension && type.num_fields() > 1);
    next.name += "." + member.name();
    next.steps.push_back({PathStep::Kind::kMember, i, 0});
    next.nullable = path.nullable || member.nullable();
    FOREBAY_RETURN_IF_ERROR(enter(member.type(), std::move(next)));
  }
  return {};
}

Status Planner::elements(const arrow::DataType& type, PathState path) {
  path.levels.push_back(path.nullable);
  const bool fixed = type.id() == Type::FIXED_SIZE_LIST;
  const int64_t length = fixed ? static_cast<const arrow::FixedSizeListType&>(type).list_size() : 0;
  path.steps.push_back({fixed ? PathStep::Kind::kFixed : PathStep::Kind::kList, 0, length});
  if (type.id() == Type::MAP) {
    const auto entries = type.field(0)->type();
    for (int i = 0; i < entries->num_fields(); ++i) {
      PathState next = path;
      next.structs.push_back(path.name);
      next.name += i == 0 ? ".key" : ".value";
      next.steps.push_back({PathStep::Kind::kMember, i, 0});
      // Keys of maps are never null.
      next.nullable = i > 0 && entries->field(i)->nullable();
      FOREBAY_RETURN_IF_ERROR(enter(entries->field(i)->type(), std::move(next)));
    }
    return {};
  }
  path.nullable = type.field(0)->nullable();
  return enter(type.field(0)->type(), std::move(path));
}

Status Planner::leaf(const std::shared_ptr<arrow::DataType>& type, PathState path) {
  // Skipped leaves are counted too, because Parquet numbers its columns so.
  const int number = number_++;
  const Result<ColumnType> own_type = leaf_type(*type);
  if (!own_type.ok()) {
    unmapped.emplace_back(path.name, own_type.status().message());
    return {};
  }
  Leaf leaf;
  leaf.name = path.name;
  leaf.column = column_;
  leaf.number = number;
  leaf.structs = path.structs;
  leaf.in_extension = path.in_extension;
  leaf.type = type;
  leaf.own = *own_type;
  choose_type(leaf);
  path.nullable = path.nullable || type->id() == Type::NA;
  if (const Status status = set_shape(leaf, path); !status.ok()) {
    unmapped.emplace_back(path.name, status.message());
    return {};
  }
  leaves.push_back(std::move(leaf));
  return {};
}

void Planner::choose_type(Leaf& leaf) const {
  ColumnType type = leaf.own;
  const ColumnType* wanted = find_type(reading_.types, leaf.name);
  if (wanted != nullptr && readable_as(*leaf.type, *wanted)) {
    type = *wanted;
    leaf.wanted = true;
  } else if (wanted != nullptr) {
    leaf.status =
        invalid_argument(fmt::format("types: the column '{}' is {}, which cannot be read as {}; leave it out of "
                                     "types=, or convert it where the table is written",
                                     leaf.name, leaf.type->ToString(), column_type_word(*wanted)));
  } else if (leaf.type->id() == Type::NA) {
    type = type_of_fill(reading_.nulls, {leaf.name, leaf.structs, type}).value_or(type);
  }
  leaf.kind = type.kind;
  leaf.dtype = type.dtype;
  leaf.time = type.time;
}

// Fixed-size lists are dimensions of a tensor, unless lists or strings are in them.
Status Planner::set_shape(Leaf& leaf, const PathState& path) {
  leaf.steps = path.steps;
  const auto is_list = [&](const PathStep& step) { return step.kind == PathStep::Kind::kList; };
  const auto innermost = std::find_if(leaf.steps.rbegin(), leaf.steps.rend(), is_list).base();
  const auto tensor = leaf.strings() ? leaf.steps.end() : innermost;
  for (auto step = leaf.steps.begin(); step != tensor; ++step) {
    if (step->kind == PathStep::Kind::kFixed) step->kind = PathStep::Kind::kList;
  }
  const auto outer = static_cast<size_t>(std::count_if(leaf.steps.begin(), leaf.steps.end(), is_list));
  leaf.lists = static_cast<int>(outer) + (leaf.strings() ? 1 : 0);
  // One level for the rows, one for each list, and one for the elements of tensors. A null tensor in
  // a list is that many null elements, since the list has no mask of its own.
  std::vector<bool> nullable = path.levels;
  nullable.push_back(path.nullable);
  const auto items = nullable.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(outer, 1));
  leaf.nullable.assign(nullable.begin(), nullable.begin() + static_cast<std::ptrdiff_t>(outer + 1));
  if (nullable.size() > outer + 1) leaf.nullable.push_back(std::find(items, nullable.end(), true) != nullable.end());
  const size_t most = kLargestRank - (outer > 0 ? 1 : 0);
  for (const PathStep& step : leaf.steps) {
    if (step.kind != PathStep::Kind::kFixed) continue;
    if (leaf.shape.rank() == most) return unsupported("a tensor of too many dimensions");
    if (step.length <= 0) return unsupported("a list of the fixed size 0");
    // Keeps rows × elements far below 2^63 for any number of rows that a file can hold.
    if (leaf.elements() > INT32_MAX / step.length) return unsupported("a tensor of too many elements");
    leaf.shape.push_back(step.length);
  }
  return {};
}

bool may_be_null(const Leaf& leaf) {
  for (const bool level : leaf.nullable) {
    if (level) return true;
  }
  return false;
}

void choose_nulls(const NullPolicy& nulls, Leaf& leaf) {
  ChosenFill chosen = choose_fill(nulls, {leaf.name, leaf.structs, leaf.read_as(), may_be_null(leaf)});
  leaf.nulls = std::move(chosen.fill);
  if (leaf.status.ok()) leaf.status = std::move(chosen.status);
}

/// The shape of any number of tensors of one shape.
Shape in_list(const Shape& tensor) {
  Shape shape{Shape::kUnknown};
  for (const int64_t dim : tensor) shape.push_back(dim);
  return shape;
}

/// Writes the fields of a leaf in the order of the schema.
class FieldWriter {
 public:
  FieldWriter(TablePlan& plan, std::string mask_ending) : plan_(plan), mask_ending_(std::move(mask_ending)) {}

  Status add(size_t leaf) {
    const Leaf& from = plan_.leaves[leaf];
    const int outer_lists = from.lists - (from.strings() ? 1 : 0);
    Field field;
    field.fetched = true;
    field.name = from.name;
    field.kind = from.kind;
    if (from.string_lists()) field.kind = from.kind == FieldKind::kText ? FieldKind::kTextList : FieldKind::kBytesList;
    field.dtype = from.dtype;
    const Shape elements = outer_lists > 0 ? in_list(from.shape) : from.shape;
    field.shape = from.strings() ? from.shape : elements;
    if (field.kind != FieldKind::kTensor) field.dtype = DType::kUint8;
    plan_.values_fields.push_back(plan_.schema.size());
    FOREBAY_RETURN_IF_ERROR(put(std::move(field), {leaf, Output::Role::kValues, 0}));
    const bool mask = from.nulls.kind == NullPolicy::Kind::kMask;
    if (mask && from.nullable[0]) FOREBAY_RETURN_IF_ERROR(put_valid(leaf, from.name + mask_ending_, {}, 0));
    if (mask && from.nullable.size() > 1 && from.nullable.back())
      FOREBAY_RETURN_IF_ERROR(
          put_valid(leaf, from.name + "_items" + mask_ending_, elements, static_cast<int>(from.nullable.size()) - 1));
    for (int level = 1; level < outer_lists; ++level) FOREBAY_RETURN_IF_ERROR(put_lengths(leaf, level, mask));
    return {};
  }

 private:
  Status put_lengths(size_t leaf, int level, bool mask) {
    const Leaf& from = plan_.leaves[leaf];
    Field field;
    field.fetched = true;
    field.name = from.name + (level == 1 ? ".lengths" : fmt::format(".lengths_{}", level));
    field.dtype = DType::kInt32;
    field.shape = {Shape::kUnknown};
    const std::string valid = field.name + "_items" + mask_ending_;
    FOREBAY_RETURN_IF_ERROR(put(std::move(field), {leaf, Output::Role::kLengths, level}));
    if (mask && from.nullable[static_cast<size_t>(level)]) return put_valid(leaf, valid, {Shape::kUnknown}, level);
    return {};
  }

  Status put_valid(size_t leaf, std::string name, const Shape& shape, int level) {
    Field field;
    field.fetched = true;
    field.name = std::move(name);
    field.dtype = DType::kBool;
    field.shape = shape;
    const auto role = level == 0 ? Output::Role::kValid : Output::Role::kItemsValid;
    return put(std::move(field), {leaf, role, level});
  }

  Status put(Field field, Output output) {
    const auto [known, is_new] = owners_.emplace(field.name, output);
    if (!is_new) return name_conflict(field.name, known->second, output);
    plan_.schema.push_back(std::move(field));
    plan_.outputs.push_back(output);
    return {};
  }

  Status name_conflict(const std::string& name, const Output& first, const Output& second) const {
    if (first.is_mask() != second.is_mask()) {
      return unsupported(fmt::format(
          "'{}' is a column of the table, and what null=fb.NULL_MASK calls the mask that says where '{}' is "
          "null; rename the column where the table is written, or give another null=",
          name, plan_.leaves[(first.is_mask() ? first : second).leaf].name));
    }
    if (plan_.leaves[first.leaf].name == plan_.leaves[second.leaf].name)
      return unsupported(
          fmt::format("two columns are called '{}'; rename one of them where the table is written", name));
    return unsupported(fmt::format(
        "two columns come to the field name '{}': one belongs to the column '{}', one to '{}'; rename one of "
        "them where the table is written",
        name, plan_.leaves[first.leaf].name, plan_.leaves[second.leaf].name));
  }

  TablePlan& plan_;
  const std::string mask_ending_;
  std::map<std::string, Output> owners_;
};

}  // namespace

static void drop_shadowed(TablePlan& plan) {
  std::map<std::string, size_t> fewest_structs;
  for (const Leaf& leaf : plan.leaves) {
    const auto [known, is_new] = fewest_structs.emplace(leaf.name, leaf.structs.size());
    if (!is_new) known->second = std::min(known->second, leaf.structs.size());
  }
  std::erase_if(plan.leaves, [&](const Leaf& leaf) {
    const bool shadowed = leaf.structs.size() > fewest_structs.at(leaf.name);
    if (shadowed)
      plan.unmapped.emplace_back(leaf.name,
                                 "a member of a struct, and a column has that whole name; rename one of "
                                 "them where the table is written");
    return shadowed;
  });
}

Result<TablePlan> plan_table(const arrow::Schema& schema, const TableReading& reading) {
  Planner planner(reading);
  for (int i = 0; i < schema.num_fields(); ++i)
    FOREBAY_RETURN_IF_ERROR(planner.add_column(static_cast<size_t>(i), *schema.field(i)));
  TablePlan plan;
  plan.leaves = std::move(planner.leaves);
  plan.unmapped = std::move(planner.unmapped);
  drop_shadowed(plan);
  FieldWriter writer(plan, reading.nulls.mask_ending);
  for (size_t i = 0; i < plan.leaves.size(); ++i) {
    choose_nulls(reading.nulls, plan.leaves[i]);
    FOREBAY_RETURN_IF_ERROR(writer.add(i));
  }
  return plan;
}

std::optional<TimeType> time_type(const TablePlan& plan, size_t field) {
  const Output& output = plan.outputs[field];
  return output.role == Output::Role::kValues ? plan.leaves[output.leaf].time : std::nullopt;
}

TableFile::Origin origin(const TablePlan& plan, size_t field) {
  const size_t leaf_index = plan.outputs[field].leaf;
  const Leaf& leaf = plan.leaves[leaf_index];
  // A string counts as a list of its bytes, which is no list of the column.
  const int own_list = leaf.strings() ? 1 : 0;
  return {.values = plan.values_fields[leaf_index],
          .structs = leaf.structs,
          .untyped = leaf.type->id() == arrow::Type::NA,
          .in_lists = leaf.lists > own_list || leaf.shape.rank() > 0};
}

}  // namespace forebay
