#include "loader/describe/table_args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "format/table/load_codecs.h"
#include "format/table/open_table.h"
#include "loader/describe/types_arg.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

constexpr std::string_view kFilterForm = "[(\"price\", \">=\", 3.5), (\"day\", \"in\", [1, 2])]";

std::string as_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool is_json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore) == as_text(Json(text));
}

std::string hex_of(const std::string& bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return digits;
}

Json table_value_json(const TableValue& value) {
  if (const auto* number = std::get_if<double>(&value); number != nullptr && !std::isfinite(*number))
    return {{"float", std::isnan(*number) ? "nan" : *number > 0 ? "inf" : "-inf"}};
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr && !is_json_text(*text)) return {{"bytes", hex_of(*text)}};
  return std::visit([](const auto& each) { return Json(each); }, value);
}

/// Returns nothing unless the text has an even number of hexadecimal digits.
std::optional<std::string> from_hex(const std::string& digits) {
  std::string bytes(digits.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint8_t byte = 0;
    const char* const pair = digits.data() + 2 * i;
    if (std::from_chars(pair, pair + 2, byte, 16).ptr != pair + 2) return std::nullopt;
    bytes[i] = static_cast<char>(byte);
  }
  return digits.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

Result<TableValue> parse_value(const Json& json) {
  if (json.is_boolean()) return TableValue(json.get<bool>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
    return invalid_argument(fmt::format("{} does not fit into 64 bits with a sign", as_text(json)));
  if (json.is_number_integer()) return TableValue(json.get<int64_t>());
  if (json.is_number_float()) return TableValue(json.get<double>());
  if (json.is_string()) return TableValue(json.get<std::string>());
  if (const Json bytes = json.is_object() ? json.value("bytes", Json()) : Json(); bytes.is_string()) {
    if (auto value = from_hex(bytes.get<std::string>())) return TableValue(std::move(*value));
    return invalid_argument(fmt::format("{} is no even number of hexadecimal digits", as_text(bytes)));
  }
  const Json special = json.is_object() ? json.value("float", Json()) : Json();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (special == "nan") return TableValue(std::numeric_limits<double>::quiet_NaN());
  if (special == "inf" || special == "-inf") return TableValue(special == "inf" ? kInfinity : -kInfinity);
  return invalid_argument(fmt::format("{} is no bool, number or text", as_text(json)));
}

Result<RowCondition> parse_condition(const Json& json) {
  if (!json.is_array() || json.size() != 3 || !json[0].is_string() || !json[1].is_string()) {
    return invalid_argument(
        fmt::format("filter: {} is no condition (column, op, value); a filter is a list of them, such as {}",
                    as_text(json), kFilterForm));
  }
  RowCondition condition;
  condition.column = json[0].get<std::string>();
  const std::string op = json[1].get<std::string>();
  const std::optional<CompareOp> known = compare_op(op);
  if (!known) {
    return invalid_argument(fmt::format(
        "filter: '{}' of the condition on '{}' is no comparison; there are ==, !=, <, <=, >, >=, in, not in", op,
        condition.column));
  }
  condition.op = *known;
  const bool several = *known == CompareOp::kIn || *known == CompareOp::kNotIn;
  if (several != json[2].is_array()) {
    return invalid_argument(fmt::format("filter: '{}' on '{}' needs {}, not {}", op, condition.column,
                                        several ? "a list of values" : "one value", as_text(json[2])));
  }
  for (const Json& each : several ? json[2] : Json::array({json[2]})) {
    Result<TableValue> value = parse_value(each);
    if (!value.ok()) {
      return invalid_argument(
          fmt::format("filter: the condition on '{}': {}", condition.column, value.status().message()));
    }
    condition.values.push_back(std::move(*value));
  }
  return condition;
}

Result<std::vector<RowCondition>> parse_conditions(const Json& json) {
  std::vector<RowCondition> all;
  for (const Json& each : json) {
    FOREBAY_ASSIGN(RowCondition condition, parse_condition(each));
    all.push_back(std::move(condition));
  }
  return all;
}

/// The argument is a list of conditions, or a list of such lists.
Result<RowFilter> parse_filter(const Json& json) {
  RowFilter filter;
  if (json.is_null()) return filter;
  if (!json.is_array()) {
    return invalid_argument(
        fmt::format("filter: {} is no list of conditions (column, op, value), such as {}", as_text(json), kFilterForm));
  }
  if (json.empty()) return filter;
  // In a single list of conditions, this element is the name of a column.
  const bool nested = json[0].is_array() && !json[0].empty() && json[0][0].is_array();
  for (const Json& all : nested ? json : Json::array({json})) {
    if (!all.is_array() || all.empty())
      return invalid_argument(fmt::format("filter: {} is no list of conditions", as_text(all)));
    FOREBAY_ASSIGN(std::vector<RowCondition> conditions, parse_conditions(all));
    filter.push_back(std::move(conditions));
  }
  return filter;
}

NullPolicy::Value null_value_of(const TableValue& value) {
  return std::visit([](const auto& each) { return NullPolicy::Value(each); }, value);
}

Status bad_null(const Json& json) {
  return invalid_argument(
      fmt::format("null: {} is not \"error\", a value to put there, values by column, or fb.NULL_MASK", as_text(json)));
}

Result<std::vector<std::string>> parse_names(const char* arg, const Json& json) {
  std::vector<std::string> names;
  const bool list = json.is_array();
  for (const Json& each : list ? json : Json::array({json})) {
    if (!each.is_string()) return invalid_argument(fmt::format("{}: {} is no name", arg, as_text(each)));
    names.push_back(each.get<std::string>());
  }
  return names;
}

Result<TableSelection> parse_selection(const OpSpec& source) {
  TableSelection selection;
  if (const Json columns = source.args.value("columns", Json()); !columns.is_null()) {
    FOREBAY_ASSIGN(selection.columns, parse_names("columns", columns));
  }
  FOREBAY_ASSIGN(selection.filter, parse_filter(source.args.value("filter", Json())));
  FOREBAY_ASSIGN(selection.reading.nulls, parse_nulls(source.args.value("null", Json())));
  FOREBAY_ASSIGN(selection.reading.types, parse_types(source.args.value("types", Json())));
  return selection;
}

struct MemoryTables {
  std::vector<std::shared_ptr<const TableFile>> tables;
};

/// Returns the text that stands for the tables in descriptions: "<table of 1000 rows: …>".
std::string name_of(const MemoryTables& memory) {
  int64_t rows = 0;
  for (const auto& table : memory.tables) {
    for (int64_t group = 0; group < table->groups(); ++group) rows += table->rows(group);
  }
  return fmt::format("<table of {} rows: {}>", rows, memory.tables.front()->schema().names());
}

}  // namespace

Result<TableRequest> parse_table_request(const OpSpec& source) {
  TableRequest request;
  FOREBAY_ASSIGN(request.selection, parse_selection(source));
  const bool follow = source.args.value("follow", Json(false)) == Json(true);
  if (source.attachment && follow)
    return invalid_argument("follow=True is for files, and this is a table in memory; leave it out");
  if (source.attachment) return request;
  const Json pattern = source.args.value("pattern", Json());
  if (pattern.is_null() || pattern == "" || pattern == Json::array()) {
    return invalid_argument(
        "nothing is given; give a pattern such as 'data/**/*.parquet', a folder, a file, or a list of files");
  }
  FOREBAY_ASSIGN(request.names, parse_names("pattern", pattern));
  request.is_list = pattern.is_array();
  if (request.is_list && follow)
    return invalid_argument(
        "follow=True wants one pattern, which files that come later can match; give it, or leave follow= out");
  return request;
}

Result<NullPolicy> parse_nulls(const Json& json) {
  NullPolicy nulls;
  if (json.is_null() || json == "error") return nulls;
  if (json == Json{{"mask", true}}) {
    nulls.kind = NullPolicy::Kind::kMask;
    return nulls;
  }
  nulls.kind = NullPolicy::Kind::kValue;
  // The object {"float": "nan"} or {"bytes": …} is a value.
  const bool detailed = json.is_object() && !json.contains("float") && !json.contains("bytes");
  if (!detailed || json.contains("value")) {
    const Result<TableValue> value = parse_value(detailed ? json["value"] : json);
    if (!value.ok()) return bad_null(json);
    nulls.value = null_value_of(*value);
  }
  if (!detailed) return nulls;
  for (const auto& [key, each] : json.items()) {
    // A mistyped key would leave its columns unchanged.
    if (key != "value" && key != "by_column") return bad_null(json);
  }
  const Json by_column = json.value("by_column", Json::object());
  if (!by_column.is_object() || (by_column.empty() && !json.contains("value"))) return bad_null(json);
  for (const auto& [column, each] : by_column.items()) {
    if (each == Json{{"mask", true}}) {
      nulls.masked.push_back(column);
      continue;
    }
    const Result<TableValue> value = parse_value(each);
    if (!value.ok()) return bad_null(json);
    nulls.by_column.emplace_back(column, null_value_of(*value));
  }
  return nulls;
}

Json table_args(const TableOptions& options) {
  Json args = Json::object();
  if (!options.columns.empty()) args["columns"] = options.columns;
  for (const std::vector<Condition>& all : options.filter) {
    Json conditions = Json::array();
    for (const Condition& condition : all) {
      const std::optional<CompareOp> op = compare_op(condition.op);
      Json values = Json::array();
      for (const TableValue& value : condition.values) values.push_back(table_value_json(value));
      if (op != CompareOp::kIn && op != CompareOp::kNotIn && values.size() == 1) values = Json(values[0]);
      conditions.push_back(Json::array({condition.column, condition.op, std::move(values)}));
    }
    args["filter"].push_back(std::move(conditions));
  }
  const Nulls& null = options.null;
  if (null.mask) {
    args["null"] = {{"mask", true}};
  } else if (null.value || !null.by_column.empty()) {
    if (null.value) args["null"]["value"] = table_value_json(*null.value);
    for (const auto& [column, value] : null.by_column) args["null"]["by_column"][column] = table_value_json(value);
  }
  for (const std::string& column : null.masked) args["null"]["by_column"][column] = {{"mask", true}};
  if (!options.types.empty()) args["types"] = options.types;
  if (options.follow) args["follow"] = true;
  return args;
}

void check_table(const OpSpec& source, std::vector<Problem>& problems) {
  const Status status = parse_table_request(source).status();
  if (status.ok()) return;
  const std::string& text = status.message();
  const size_t split = std::min(text.find("; "), text.size());
  const std::string remedy = split < text.size() ? text.substr(split + 2) : "see the documentation of the source";
  problems.push_back({"", text.substr(0, split), remedy});
}

Result<OpSpec> arrow_streams_step(std::span<void* const> streams, Json args) {
  OpSpec step{"arrow", std::move(args), nullptr, ""};
  const auto memory = std::make_shared<MemoryTables>();
  FOREBAY_ASSIGN(const TableSelection selection, parse_selection(step));
  if (streams.empty()) return invalid_argument("arrow: the list holds no table");
  FOREBAY_ASSIGN(const TableCodecs* codecs, load_table_codecs());
  for (void* stream : streams) {
    FOREBAY_ASSIGN(auto table, codecs->take_stream(stream, selection.reading));
    memory->tables.push_back(std::move(table));
  }
  step.attachment_name = name_of(*memory);
  step.attachment = memory;
  return step;
}

Result<std::shared_ptr<const ChunkSource>> open_table_source(const OpSpec& source, TableRequest::Format format,
                                                             const OpenSourceOptions& options) {
  FOREBAY_ASSIGN(TableRequest request, parse_table_request(source));
  request.format = format;
  FOREBAY_ASSIGN(const TableCodecs* codecs, load_table_codecs());
  if (!source.attachment) {
    FOREBAY_ASSIGN(StoreAndPath at, open_store_for(request.names.front(), options));
    return open_table(std::move(at), request, *codecs, options.stop);
  }
  const auto memory = std::static_pointer_cast<const MemoryTables>(source.attachment);
  return open_memory_tables(memory->tables, request.selection, *codecs, options.stop, options.warnings);
}

}  // namespace forebay
