#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/lines/json_column.h"

namespace forebay {

/// Where the members of records go: a tree of names. A dot in a name is a step down, whether the record has an object there or a name with a dot.
class JsonNames {
 public:
  /// InvalidArgument where one field lies inside of another, or two have one name.
  static Result<JsonNames> of(std::span<const JsonField> fields);

  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> members;
    std::optional<size_t> field;
  };
  const Node& root() const { return *root_; }
  /// Null where no field is there or below.
  static const Node* find(const Node& node, std::string_view name);

 private:
  std::unique_ptr<Node> root_ = std::make_unique<Node>();
};

/// Reads one record into the columns, a row each. Of members that appear twice the last counts; those that no field names are passed over.
/// Corrupt, naming the member, where it is no JSON, a value is not of its field's type, or one is missing that nothing stands in for; the columns then hold
/// what they held before. No depth of nesting takes more than a bit each.
Status read_json_record(std::span<const uint8_t> line, const JsonNames& names, std::span<JsonColumn> columns,
                        int64_t row);

}  // namespace forebay
