#include "loader/describe/types_arg.h"

#include <fmt/format.h>

#include "ops/definition/args.h"

namespace forebay {

Result<ColumnTypes> parse_types(const Json& json) {
  ColumnTypes types;
  if (json.is_null()) return types;
  if (!json.is_object())
    return invalid_argument(
        fmt::format("types: {} is no object of types by column; write {{\"column\": \"int64\"}}", json_text(json)));
  for (const auto& [column, word] : json.items()) {
    Result<ColumnType> type =
        word.is_string() ? parse_column_type(word.get<std::string>())
                         : invalid_argument(fmt::format("{} is no text with the name of a type", json_text(word)));
    if (!type.ok())
      return invalid_argument(fmt::format("types: the type of the column '{}': {}", column, type.status().message()));
    types.emplace_back(column, *type);
  }
  return types;
}

}  // namespace forebay
