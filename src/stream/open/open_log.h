#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "format/files/open_store.h"
#include "stream/record_log.h"
#include "stream/rows/row_log.h"

namespace forebay {

/// The address of a log and the format of its records, as users give them.
struct LogAddress {
  /// "redis://…", "nats://…", "kafka://…", or a pattern of files.
  std::string url;
  /// "bytes", "text", "json" or "fields". The default with `fields` is "fields" for Redis and
  /// "json" for other logs. Without `fields` it is "text" for lines and "bytes" for other logs.
  std::string format = {};
  /// JSON, for RecordFormat.
  std::string fields = {};
  /// For files: each file is a record, instead of each line.
  bool whole_files = false;
  /// For Parquet and Arrow files: their rows are the records.
  std::optional<RowRequest> rows = {};
  /// For Kafka: the partitions of the topic to read, in increasing order. Empty: all.
  std::vector<size_t> partitions = {};
  StorageOptions storage = {};  ///< of files, or of brokers (broker_options.h)
};

/// InvalidArgument if partitions of such a log cannot be chosen; the message has the alternative.
Status check_choice_of_partitions(std::string_view url);

/// Opens a log by its URL. It is the one place that knows the schemes of logs. Scans folders, and
/// asks Kafka for its partitions, for which it waits if need be; contacts no other server. Errors:
/// Unsupported if the scheme is not one of a log, or if this build lacks its client library (the
/// message names it); those of the log.
Result<std::shared_ptr<const RecordLog>> open_log(const LogAddress& address, std::stop_token stop = {});

}  // namespace forebay
