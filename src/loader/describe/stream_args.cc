#include "loader/describe/stream_args.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "loader/describe/source_args.h"
#include "loader/describe/table_args.h"
#include "ops/definition/args.h"
#include "stream/open/open_log.h"
#include "stream/record_format.h"
#include "stream/stream_source.h"

namespace forebay {

namespace {

Result<std::vector<std::string>> partition_names(const OpSpec& source) {
  const Json given = source.args.value("partition", Json());
  if (given.is_null()) return std::vector<std::string>{""};
  std::vector<std::string> names;
  if (given.is_array()) {
    for (const Json& name : given) {
      if (name.is_string()) names.push_back(name.get<std::string>());
      if (name.is_number_integer()) names.push_back(std::to_string(name.get<int64_t>()));
    }
  }
  if (names.empty() || names.size() != given.size())
    return invalid_argument("partition is no list of names or numbers");
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    return invalid_argument("partition names one twice");
  return names;
}

// "int64[]", as in `jsonl`, means a list of any length.
std::string payload_fields(const Json& fields) {
  if (!fields.is_object()) return "";
  Json said = Json::object();
  for (const auto& [name, type] : fields.items()) {
    const std::string word = type.is_string() ? type.get<std::string>() : "";
    said[name] = word.ends_with("[]") ? Json::array({word.substr(0, word.size() - 2), Json::array({-1})}) : type;
  }
  return said.dump();
}

Result<std::string> one_pattern(const OpSpec& source, const char* name) {
  const Json given = source.args.value(name, Json());
  if (given.is_string()) return given.get<std::string>();
  return invalid_argument(
      fmt::format("{}: follow=True wants one pattern, which files that come later can match", source.name));
}

Result<std::shared_ptr<const Source>> source_of_log(const LogAddress& address, const std::stop_token& stop) {
  FOREBAY_ASSIGN(std::shared_ptr<const RecordLog> log, open_log(address, stop));
  return std::shared_ptr<const Source>(std::make_shared<StreamSource>(std::move(log)));
}

/// The argument is a number, or a list of distinct numbers.
Result<std::vector<size_t>> chosen_partitions(const OpSpec& source) {
  Json given = source.args.value("partition", Json());
  if (given.is_null()) return std::vector<size_t>{};
  FOREBAY_RETURN_IF_ERROR(check_choice_of_partitions(text_arg(source, "url")));
  if (!given.is_array()) given = Json::array({given});
  std::set<size_t> chosen;
  for (const Json& number : given) {
    const bool good = number.is_number_integer() && number.get<int64_t>() >= 0 && number.get<int64_t>() <= INT32_MAX;
    if (!good || !chosen.insert(number.get<size_t>()).second)
      return invalid_argument(fmt::format("partition: {} is no number of a partition, or there twice", number.dump()));
  }
  if (chosen.empty()) return invalid_argument("partition: an empty list chooses nothing");
  return std::vector<size_t>(chosen.begin(), chosen.end());
}

Result<RecordFormat> format_of(const OpSpec& source) {
  const Json fields = source.args.value("fields", Json());
  std::string format = text_arg(source, "format");
  if (format.empty())
    format = fields.is_null() ? "bytes" : text_arg(source, "url").starts_with("redis") ? "fields" : "json";
  return RecordFormat::parse(format, fields.is_null() ? "" : fields.dump());
}

}  // namespace

void check_stream(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  if (text_arg(source, "url").find("://") == std::string::npos)
    problems.add("the url names no scheme",
                 "give \"redis://host:port/0/NAME\", \"nats://host:port/STREAM\" or \"kafka://host:port/TOPIC\"; files "
                 "are followed by "
                 "fb.jsonl(…, follow=True), fb.text and fb.files");
  if (const Status chosen = chosen_partitions(source).status(); !chosen.ok())
    problems.add(chosen.message(), "give partition=[0, 3], or leave it out: all partitions are read");
  if (const Status format = format_of(source).status(); !format.ok())
    problems.add(format.message(),
                 "write fields={\"name\": \"int64\", …} and format=\"json\", \"fields\" or \"bytes\"");
}

Schema announced_stream(const OpSpec& source) {
  if (Result<RecordFormat> format = format_of(source); format.ok()) return format->schema();
  Schema unknown;
  unknown.open_ended = true;
  return unknown;
}

Result<std::shared_ptr<const Source>> open_stream(const OpSpec& source, const OpenSourceOptions& options) {
  const Json fields = source.args.value("fields", Json());
  FOREBAY_ASSIGN(std::vector<size_t> partitions, chosen_partitions(source));
  return source_of_log({.url = text_arg(source, "url"),
                        .format = text_arg(source, "format"),
                        .fields = fields.is_null() ? "" : fields.dump(),
                        .partitions = std::move(partitions),
                        .storage = options.storage_options},
                       options.stop);
}

bool follows(const OpSpec& source) { return source.args.value("follow", Json(false)) == Json(true); }

Result<std::shared_ptr<const Source>> open_followed(const OpSpec& source, const char* pattern, const char* format,
                                                    bool whole_files, const OpenSourceOptions& options) {
  FOREBAY_ASSIGN(std::string url, one_pattern(source, pattern));
  return source_of_log({.url = std::move(url),
                        .format = format,
                        .fields = payload_fields(source.args.value("fields", Json())),
                        .whole_files = whole_files,
                        .storage = options.storage_options},
                       options.stop);
}

Result<std::shared_ptr<const Source>> open_followed_table(const OpSpec& source, TableRequest::Format format,
                                                          const OpenSourceOptions& options) {
  RowRequest rows;
  FOREBAY_ASSIGN(rows.table, parse_table_request(source));
  rows.table.format = format;
  Json said = source.args;
  for (const char* not_of_rows : {"pattern", "follow"}) said.erase(not_of_rows);
  // The options that change rows, as text. They are part of RecordLog::identity(), so a state that
  // was saved with other options is refused.
  rows.said = said.dump(-1, ' ', true, Json::error_handler_t::replace);
  // Half of the memory, as with caches; the other half is for batches.
  if (options.memory) rows.max_group_bytes = *options.memory / 2;
  FOREBAY_ASSIGN(std::string url, one_pattern(source, "pattern"));
  return source_of_log({.url = std::move(url), .rows = std::move(rows), .storage = options.storage_options},
                       options.stop);
}

void check_iterable(const OpSpec& source, std::vector<Problem>& found) {
  if (const auto names = partition_names(source); !names.ok())
    Problems(found).add(names.status().message(), "give the names of the partitions, each once");
  if (!source.attachment)
    Problems(found).add("the iterable itself is missing; a pipeline read from JSON has none",
                        "begin with fb.stream(...) in your program, or with a stream that has an address");
}

Result<std::shared_ptr<const Source>> open_iterable(const OpSpec& source, const OpenSourceOptions&) {
  FOREBAY_ASSIGN(std::vector<std::string> partitions, partition_names(source));
  const auto& attachment = *std::static_pointer_cast<const IterableAttachment>(source.attachment);
  const std::string& name = source.attachment_name.empty() ? source.name : source.attachment_name;
  return std::shared_ptr<const Source>(
      std::make_shared<StreamSource>(std::make_shared<PushedLog>(name, std::move(partitions), attachment.open)));
}

}  // namespace forebay
