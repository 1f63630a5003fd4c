#include "loader/stream_args.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ops/definition/args.h"
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

}  // namespace

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
