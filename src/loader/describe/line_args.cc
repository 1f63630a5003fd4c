#include "loader/describe/line_args.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "format/lines/json_lines.h"
#include "format/lines/line_table.h"
#include "format/lines/text_files.h"
#include "format/lines/text_lines.h"
#include "loader/describe/open_sample_sources.h"
#include "loader/describe/table_args.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

constexpr std::string_view kTextEndings[] = {".txt", ".text"};
constexpr std::string_view kJsonEndings[] = {".jsonl", ".ndjson", ".jsonlines"};

bool by_file(const OpSpec& source) { return source.args.value("by", Json("line")) == Json("file"); }

void check_pattern(const OpSpec& source, std::string_view example, Problems& problems) {
  const Json given = source.args.value("pattern", Json());
  if (given.is_null()) return;  // check_args() reports it as missing
  bool texts = given.is_string() ? given != "" : given.is_array() && !given.empty();
  for (const Json& one : given.is_array() ? given : Json::array()) texts = texts && one.is_string() && one != "";
  if (!texts)
    problems.add(fmt::format("pattern is {}", json_text(given)),
                 fmt::format("give a pattern such as '{}', a folder, a file, or a list of files", example));
}

Result<std::shared_ptr<const LineTable>> open_table_of_lines(const OpSpec& source, LineRows rows,
                                                             std::span<const std::string_view> endings,
                                                             const OpenSourceOptions& options) {
  const Json given = source.args.value("pattern", Json());
  const std::vector<std::string> names = field_list(given);
  if (names.empty()) return invalid_argument("nothing is given; give a pattern, a folder, a file, or a list of files");
  FOREBAY_ASSIGN(StoreAndPath at, open_store_for(names.front(), options));
  OpenLinesOptions how;
  how.rows = rows;
  how.endings = endings;
  how.index_folder = default_line_index_folder();
  return open_lines(std::move(at), names, given.is_array(), how, options.stop);
}

Result<std::shared_ptr<const Source>> open_text_files(const OpSpec& source, const OpenSourceOptions& options) {
  OpSpec files = source;
  files.args["pattern_or_list"] = source.args.value("pattern", Json());
  FOREBAY_ASSIGN(std::shared_ptr<const Source> opened, open_files_step(files, options));
  return std::shared_ptr<const Source>(text_of_files(std::move(opened)));
}

Result<std::vector<JsonField>> given_fields(const Json& given) {
  std::vector<JsonField> fields;
  if (!given.is_object() || given.empty()) {
    return invalid_argument(fmt::format("fields is {}; write {{\"name\": \"type\", …}}", json_text(given)));
  }
  for (const auto& [name, word] : given.items()) {
    const std::optional<JsonType> type = word.is_string() ? json_type(word.get<std::string>()) : std::nullopt;
    if (!type) {
      return invalid_argument(
          fmt::format("fields: the type of '{}' is {}; give one of: {}", name, json_text(word), json_type_words()));
    }
    fields.push_back({name, *type, {}});
  }
  return fields;
}

/// Returns nothing for an empty value.
std::optional<JsonInstead> instead_of(const NullPolicy::Value& value) {
  return std::visit(
      [](const auto& one) -> std::optional<JsonInstead> {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>)
          return std::nullopt;
        else
          return JsonInstead(one);
      },
      value);
}

/// A value given for a field by name takes precedence over one for all fields of its kind.
Status set_instead(const NullPolicy& nulls, std::vector<JsonField>& fields) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : nulls.by_column) {
    const auto field = std::ranges::find(fields, name, &JsonField::name);
    if (field == fields.end())
      unknown.push_back(name);
    else
      field->instead = instead_of(value);
  }
  if (!unknown.empty())
    return invalid_argument(fmt::format("null: there is no field {}; leave it out", quoted_list(unknown)));
  const std::optional<JsonInstead> value = instead_of(nulls.value);
  for (JsonField& field : fields) {
    if (value && !field.instead && fits(*value, field.type)) field.instead = value;
  }
  return {};
}

Result<NullPolicy> nulls_of_records(const OpSpec& source) {
  FOREBAY_ASSIGN(NullPolicy nulls, parse_nulls(source.args.value("null", Json())));
  if (nulls.kind == NullPolicy::Kind::kMask || !nulls.masked.empty())
    return invalid_argument("null: records have no masks; give the value to put there, or values by field");
  return nulls;
}

Result<NanPolicy> nan_of_records(const OpSpec& source) {
  const Json word = source.args.value("nan", Json("error"));
  const std::optional<NanPolicy> policy = word.is_string() ? nan_policy(word.get<std::string>()) : std::nullopt;
  if (policy) return *policy;
  return invalid_argument(fmt::format("nan is {}; give \"error\", \"keep\" or \"null\"", json_text(word)));
}

void add_problem(const Status& status, std::vector<Problem>& found) {
  const std::string& text = status.message();
  // A message states its remedy after "; ". A problem holds the two apart.
  const size_t split = std::min(text.find("; "), text.size());
  found.push_back({"", text.substr(0, split), split < text.size() ? text.substr(split + 2) : "see the source's page"});
}

}  // namespace

void check_text(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  check_pattern(source, "books/**/*.txt", problems);
  const Json by = source.args.value("by", Json("line"));
  if (by.is_string() && by != "line" && by != "file")
    problems.add(fmt::format("by is {}", json_text(by)), "a sample is a \"line\" or a \"file\"");
}

void check_jsonl(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  check_pattern(source, "data/**/*.jsonl", problems);
  if (const Status nulls = nulls_of_records(source).status(); !nulls.ok()) add_problem(nulls, found);
  if (const Status nan = nan_of_records(source).status(); !nan.ok()) add_problem(nan, found);
  const Json fields = source.args.value("fields", Json());
  if (fields.is_null()) return;
  Result<std::vector<JsonField>> given = given_fields(fields);
  const Status wrong = given.ok() ? json_line_reader(std::move(*given)).status() : given.status();
  if (!wrong.ok()) add_problem(wrong, found);
}

Result<std::shared_ptr<const Source>> open_text_step(const OpSpec& source, const OpenSourceOptions& options) {
  if (by_file(source)) return open_text_files(source, options);
  FOREBAY_ASSIGN(auto table, open_table_of_lines(source, LineRows::kAll, kTextEndings, options));
  return std::shared_ptr<const Source>(std::make_shared<LineSource>(std::move(table), text_line_reader()));
}

Result<std::shared_ptr<const Source>> open_jsonl_step(const OpSpec& source, const OpenSourceOptions& options) {
  FOREBAY_ASSIGN(auto table, open_table_of_lines(source, LineRows::kNotBlank, kJsonEndings, options));
  const Json given = source.args.value("fields", Json());
  FOREBAY_ASSIGN(const NanPolicy nan, nan_of_records(source));
  FOREBAY_ASSIGN(std::vector<JsonField> fields,
                 given.is_null() ? find_json_fields(*table, nan, options.stop) : given_fields(given));
  FOREBAY_ASSIGN(const NullPolicy nulls, nulls_of_records(source));
  FOREBAY_RETURN_IF_ERROR(set_instead(nulls, fields));
  FOREBAY_ASSIGN(auto reader, json_line_reader(std::move(fields), nan));
  return std::shared_ptr<const Source>(std::make_shared<LineSource>(std::move(table), std::move(reader)));
}

}  // namespace forebay
