#include "stream/open/open_log.h"

#include <fmt/format.h>

#include "format/table/load_codecs.h"
#include "stream/broker/broker_logs.h"
#include "stream/files/folder_log.h"
#include "stream/files/line_log.h"

namespace forebay {

namespace {

using OpenedLog = Result<std::shared_ptr<const RecordLog>>;

Result<RecordFormat> format_of_log(const LogAddress& address, std::string_view plain, std::string_view with_fields) {
  if (!address.format.empty()) return RecordFormat::parse(address.format, address.fields);
  return RecordFormat::parse(address.fields.empty() ? plain : with_fields, address.fields);
}

Status no_named_values(const RecordFormat& format) {
  if (format.form() != PayloadForm::kFields) return {};
  return invalid_argument("format='fields' is for the named values of Redis; messages here are bytes, text or json");
}

OpenedLog open_redis(const LogAddress& address) {
  FOREBAY_ASSIGN(RedisAddress place, RedisAddress::parse(address.url, address.storage));
  FOREBAY_ASSIGN(RecordFormat format, format_of_log(address, "bytes", "fields"));
  return redis_log(std::move(place), std::move(format));
}

OpenedLog open_nats(const LogAddress& address) {
  FOREBAY_ASSIGN(NatsAddress place, NatsAddress::parse(address.url, address.storage));
  FOREBAY_ASSIGN(RecordFormat format, format_of_log(address, "bytes", "json"));
  FOREBAY_RETURN_IF_ERROR(no_named_values(format));
  return nats_log(std::move(place), std::move(format));
}

OpenedLog open_kafka(const LogAddress& address, const std::stop_token& stop) {
  FOREBAY_ASSIGN(KafkaAddress place, KafkaAddress::parse(address.url, address.storage));
  place.partitions = address.partitions;
  FOREBAY_ASSIGN(RecordFormat format, format_of_log(address, "bytes", "json"));
  FOREBAY_RETURN_IF_ERROR(no_named_values(format));
  return open_kafka_log(std::move(place), std::move(format), stop);
}

OpenedLog open_files_log(const LogAddress& address, const std::stop_token& stop) {
  FOREBAY_ASSIGN(StoreAndPath place, open_store(address.url, address.storage));
  // A store with a name is a bucket, whose objects have no order of appearance and cannot grow.
  if (!place.name.empty())
    return unsupported(
        fmt::format("{}: growing files and folders are followed on local file systems only", url_scheme(address.url)));
  if (address.rows) {
    FOREBAY_ASSIGN(const TableCodecs* codecs, load_table_codecs());
    return open_row_log(place.path, *address.rows, *codecs, stop);
  }
  FOREBAY_ASSIGN(FilePattern pattern, FilePattern::of(place.path));
  FOREBAY_ASSIGN(RecordFormat format, format_of_log(address, address.whole_files ? "bytes" : "text", "json"));
  FOREBAY_RETURN_IF_ERROR(no_named_values(format));
  if (address.whole_files) return folder_log(std::move(place.store), std::move(pattern), std::move(format));
  return open_line_log(pattern, std::move(format), stop);
}

}  // namespace

Status check_choice_of_partitions(std::string_view url) {
  const std::string_view scheme = url_scheme(url);
  if (scheme == "kafka") return {};
  if (scheme == "redis" || scheme == "rediss")
    return invalid_argument(
        "partition= is for topics of Kafka; of Redis the streams are the partitions, and the URL names those that are "
        "read: redis://host/0/NAME-{000..003}");
  if (scheme == "nats" || scheme == "tls")
    return invalid_argument(
        "partition= is for topics of Kafka; a stream of NATS is one partition, and a subject chooses its messages: "
        "nats://host/STREAM/SUBJECT");
  return invalid_argument("partition= is for topics of Kafka; each file is a partition, and the pattern chooses them");
}

OpenedLog open_log(const LogAddress& address, std::stop_token stop) {
  const std::string_view scheme = url_scheme(address.url);
  if (!address.partitions.empty()) FOREBAY_RETURN_IF_ERROR(check_choice_of_partitions(address.url));
  if (scheme == "redis" || scheme == "rediss") return open_redis(address);
  if (scheme == "nats" || scheme == "tls") return open_nats(address);
  if (scheme == "kafka") return open_kafka(address, stop);
  if (scheme.empty() || scheme == "file") return open_files_log(address, stop);
  return unsupported(fmt::format(
      "'{}://' is no log; there are redis://, rediss://, nats://, tls:// (NATS), kafka://, and local files by pattern",
      scheme));
}

}  // namespace forebay
