#include "format/hdf5/column.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/suggest.h"
#include "format/hdf5/links.h"
#include "format/hdf5/preloaded_values.h"

namespace forebay {

namespace {

constexpr size_t kPathsNamed = 10;

/// Resolves the fields of one file.
class Resolver {
 public:
  Resolver(Hdf5Metadata& file, const std::optional<Hdf5Windows>& windows) : file_(file), windows_(windows) {}

  Result<Hdf5Columns> run(const std::vector<Hdf5Field>& fields) {
    for (const Hdf5Field& field : fields) {
      if (const Status found = resolve(field); !found.ok())
        return Status(found.code(), fmt::format("the field '{}' ({}): {}", field.name, field.path, found.message()));
    }
    // This is checked before any value of variable length is read, which takes time and memory per row.
    FOREBAY_RETURN_IF_ERROR(check_same_rows(fields));
    for (Hdf5Column& column : result_.columns) {
      if (const Status preloaded = preload(column); !preloaded.ok())
        return Status(preloaded.code(), fmt::format("the field '{}': {}", column.field.name, preloaded.message()));
    }
    return std::move(result_);
  }

 private:
  Status resolve(const Hdf5Field& field) {
    Hdf5Column column;
    column.field.name = field.name;
    column.field.fetched = true;
    const size_t at = field.path.rfind('@');
    Result<Hdf5Object> object = find_hdf5_object(file_, field.path);
    if (object.ok()) {
      FOREBAY_RETURN_IF_ERROR(take_data(column, *object, field.path, ""));
    } else if (object.status().code() != Code::kNotFound) {
      return object.status();
    } else if (at != std::string::npos) {
      FOREBAY_RETURN_IF_ERROR(take_attribute(column, field.path.substr(0, at), field.path.substr(at + 1)));
    } else {
      FOREBAY_RETURN_IF_ERROR(take_member(column, field.path, object.status()));
    }
    result_.columns.push_back(std::move(column));
    return {};
  }

  /// Resolves "/table.column.part": the longest path that exists, then members.
  Status take_member(Hdf5Column& column, const std::string& path, const Status& none) {
    // Names may contain dots, so the longest existing name is taken.
    for (size_t dot = path.rfind('.'); dot != std::string::npos && dot > 0; dot = path.rfind('.', dot - 1)) {
      Result<Hdf5Object> object = find_hdf5_object(file_, path.substr(0, dot));
      if (object.ok()) return take_data(column, *object, path.substr(0, dot), path.substr(dot + 1));
      if (object.status().code() != Code::kNotFound) return object.status();
    }
    const std::vector<std::string> known = hdf5_data_sets(file_, kPathsNamed);
    if (known.empty()) return none;
    return not_found(fmt::format("{}. Data sets of the file{}: {}", none.message(),
                                 known.size() == kPathsNamed ? " are, among others" : "", fmt::join(known, ", ")));
  }

  Result<size_t> data_set(const Hdf5Object& object, const std::string& path) {
    // Compared by address, because links may name one data set in several ways.
    if (const auto known = data_numbers_.find(object.address); known != data_numbers_.end()) return known->second;
    FOREBAY_ASSIGN(Hdf5DataSet data, open_hdf5_data_set(file_, object.header, path));
    if (data.space.empty || data.space.dims.empty()) {
      return invalid_argument(
          fmt::format("'{}' is {} and has no axis of samples; take it as an attribute, or leave it out", path,
                      data.space.empty ? "empty" : "a single value"));
    }
    result_.data.push_back(std::move(data));
    return data_numbers_[object.address] = result_.data.size() - 1;
  }

  Status take_data(Hdf5Column& column, const Hdf5Object& object, const std::string& path, std::string_view members) {
    FOREBAY_ASSIGN(column.data, data_set(object, path));
    const Hdf5DataSet& data = result_.data[column.data];
    Hdf5Type leaf = data.type;
    std::vector<int64_t> dims;
    for (size_t axis = 1; axis < data.space.dims.size(); ++axis)
      dims.push_back(static_cast<int64_t>(data.space.dims[axis]));
    if (leaf.kind == Hdf5Type::Kind::kCompound || !members.empty())
      FOREBAY_RETURN_IF_ERROR(descend_to_member(column, leaf, members));
    return take_type(column, std::move(leaf), std::move(dims));
  }

  /// Replaces `type` by that of the member named in `members` ("outer.inner"), and adds its offset.
  static Status descend_to_member(Hdf5Column& column, Hdf5Type& type, std::string_view members) {
    while (!members.empty() || type.kind == Hdf5Type::Kind::kCompound) {
      if (type.kind != Hdf5Type::Kind::kCompound)
        return invalid_argument(fmt::format("'.{}' is a member of no compound but of {}", members, type.to_string()));
      // Names may contain dots, so the longest matching name is taken.
      const Hdf5Type::Member* found = nullptr;
      for (const Hdf5Type::Member& member : type.members) {
        const bool fits = members.starts_with(member.name) &&
                          (members.size() == member.name.size() || members[member.name.size()] == '.');
        if (fits && (found == nullptr || member.name.size() > found->name.size())) found = &member;
      }
      if (found == nullptr) return no_member(type, members);
      members.remove_prefix(std::min(members.size(), found->name.size() + 1));
      column.offset += found->offset;
      Hdf5Type inner = found->type;
      type = std::move(inner);
    }
    return {};
  }

  static Status no_member(const Hdf5Type& type, std::string_view members) {
    std::vector<std::string> known;
    for (const Hdf5Type::Member& member : type.members) known.push_back(member.name);
    if (members.empty())
      return invalid_argument(
          fmt::format("it is {}: name a member, '.{}'", type.to_string(), fmt::join(known, "', '.")));
    return not_found(
        fmt::format("no member '{}'{}; there is {}", members, suggestion_text(members, known), fmt::join(known, ", ")));
  }

  /// Determines the values and the shape that the elements become.
  Status take_type(Hdf5Column& column, Hdf5Type leaf, std::vector<int64_t> dims) {
    while (leaf.kind == Hdf5Type::Kind::kArray) {
      for (const int64_t dim : leaf.dims) {
        dims.push_back(dim);
        column.numbers_per_element *= static_cast<uint64_t>(dim);
      }
      Hdf5Type inner = std::move(leaf.base[0]);
      leaf = std::move(inner);
    }
    FOREBAY_RETURN_IF_ERROR(take_leaf(column, leaf, dims));
    Field& field = column.field;
    if (field.kind == FieldKind::kTensor && column.from != Hdf5Column::From::kPreloaded)
      FOREBAY_RETURN_IF_ERROR(set_row_shape(field, dims));
    column.leaf = std::move(leaf);
    return {};
  }

  Status take_leaf(Hdf5Column& column, Hdf5Type& leaf, std::vector<int64_t>& dims) const {
    switch (leaf.kind) {
      case Hdf5Type::Kind::kString: return take_text(column, dims);
      case Hdf5Type::Kind::kOpaque: return take_opaque(column, leaf, dims);
      case Hdf5Type::Kind::kVarying: return take_varying(column, leaf, dims);
      case Hdf5Type::Kind::kCompound:
        return unsupported("arrays of compounds have no place in a batch; write the members as data sets of their own");
      default: return take_numbers(column, leaf);
    }
  }

  static Status take_numbers(Hdf5Column& column, const Hdf5Type& leaf) {
    FOREBAY_ASSIGN(column.numbers, Hdf5Numbers::of(leaf));
    column.field.dtype = column.numbers.dtype();
    return {};
  }

  /// Bytes that only their writer understands are returned as uint8.
  static Status take_opaque(Hdf5Column& column, Hdf5Type& leaf, std::vector<int64_t>& dims) {
    dims.push_back(leaf.bytes);
    column.numbers_per_element *= leaf.bytes;
    leaf = Hdf5Type();
    leaf.bytes = 1;
    leaf.precision = 8;
    return take_numbers(column, leaf);
  }

  /// Sets the shape of a row: with windows, the rows of a window come first.
  Status set_row_shape(Field& field, std::vector<int64_t> dims) const {
    if (windows_) dims.insert(dims.begin(), windows_->rows);
    if (dims.size() >= Shape::kMaxRank) {
      return unsupported(
          fmt::format("its rows have {} axes, and a batch has room for {}; reshape it before it is written",
                      dims.size(), Shape::kMaxRank - 1));
    }
    unsigned __int128 elements = 1;
    for (const int64_t dim : dims) {
      elements *= static_cast<uint64_t>(dim);
      // Checked after each factor of at most 2^63, so the product fits 128 bits.
      if (elements > uint64_t{1} << 56) return hdf5_damaged("a row has more elements than any memory");
      field.shape.push_back(dim);
    }
    return {};
  }

  Status take_text(Hdf5Column& column, const std::vector<int64_t>& dims) const {
    if (windows_) return no_windows();
    if (!dims.empty())
      return unsupported("rows of several texts have no place in a batch; write each column as a data set of its own");
    column.from = Hdf5Column::From::kText;
    column.field.kind = FieldKind::kText;
    return {};
  }

  Status take_varying(Hdf5Column& column, const Hdf5Type& leaf, const std::vector<int64_t>& dims) const {
    if (windows_) return no_windows();
    if (!dims.empty())
      return unsupported(
          "rows of several values of varying length have no place in a batch; write each column as a data set of its "
          "own");
    column.from = Hdf5Column::From::kPreloaded;
    if (leaf.varying_string) {
      column.field.kind = FieldKind::kText;
      return {};
    }
    FOREBAY_ASSIGN(column.numbers, Hdf5Numbers::of(leaf.base[0]));
    column.field.dtype = column.numbers.dtype();
    column.field.shape = Shape{Shape::kUnknown};
    return {};
  }

  static Status no_windows() {
    return unsupported("windows are of numbers; take texts and values of varying length without window=");
  }

  Status take_attribute(Hdf5Column& column, const std::string& path, const std::string& name) {
    FOREBAY_ASSIGN(const Hdf5Object object, find_hdf5_object(file_, path));
    FOREBAY_ASSIGN(const Hdf5Attribute attribute, find_hdf5_attribute(file_, object.header, name));
    FOREBAY_RETURN_IF_ERROR(hdf5_constant(file_, attribute, column));
    column.from = Hdf5Column::From::kConstant;
    return {};
  }

  /// Checks that all data sets have the same number of rows.
  Status check_same_rows(const std::vector<Hdf5Field>& fields) {
    if (result_.data.empty())
      return invalid_argument(
          "all fields are attributes, so nothing says how many rows there are; name a data set, too");
    result_.rows = static_cast<int64_t>(result_.data.front().rows());
    std::string differ;
    for (const Hdf5DataSet& data : result_.data) {
      if (data.rows() != result_.data.front().rows()) differ += fmt::format(", '{}' has {}", data.path, data.rows());
    }
    if (differ.empty()) return {};
    return invalid_argument(
        fmt::format("the data sets differ in rows: '{}' has {}{}; make a pipeline for each ({} fields were named)",
                    result_.data.front().path, result_.rows, differ, fields.size()));
  }

  Status preload(Hdf5Column& column) {
    if (column.from != Hdf5Column::From::kPreloaded) return {};
    FOREBAY_ASSIGN(column.preloaded, read_hdf5_varying(file_, result_.data[column.data], column, preloaded_bytes_));
    return {};
  }

  Hdf5Metadata& file_;
  const std::optional<Hdf5Windows>& windows_;
  Hdf5Columns result_;
  std::map<uint64_t, size_t> data_numbers_;
  uint64_t preloaded_bytes_ = 0;
};

}  // namespace

Result<Hdf5Columns> resolve_hdf5_fields(Hdf5Metadata& file, const std::vector<Hdf5Field>& fields,
                                        const std::optional<Hdf5Windows>& windows) {
  return Resolver(file, windows).run(fields);
}

}  // namespace forebay
