#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/lines/json_column.h"

namespace forebay {

/// A tree of field names that maps the members of records to columns. A dot in a name means one
/// level down, whether the record has a nested object there or a name that contains a dot.
/// Immutable.
class JsonNames {
 public:
  /// InvalidArgument if one field contains another or two have the same name.
  static Result<JsonNames> of(std::span<const JsonField> fields);

  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> members;
    std::optional<size_t> field;
  };
  const Node& root() const { return *root_; }
  /// Null if neither a field of that name nor one below it exists.
  static const Node* find(const Node& node, std::string_view name);

 private:
  std::unique_ptr<Node> root_ = std::make_unique<Node>();
};

/// Parses one record and adds one row to each column. Fields below a member that is a list of
/// objects are lists, with one value of each object. If a member appears twice, the last one counts. Members that are not fields are skipped. Nesting of any depth takes one bit of memory
/// per level.
///
/// Corrupt, naming the member, if the line is not JSON, a value does not have its field's type, or
/// a member without a replacement value is missing. The columns are then unchanged.
Status read_json_record(std::span<const uint8_t> line, const JsonNames& names, std::span<JsonColumn> columns,
                        int64_t row);

}  // namespace forebay
