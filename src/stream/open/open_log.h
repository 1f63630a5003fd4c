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

/// Where a log is, and what is in it, as users say it.
struct LogAddress {
  /// "redis://…", "nats://…", "kafka://…", or a pattern of files.
  std::string url;
  /// "bytes", "text", "json" or "fields"; empty: with `fields` "fields" of Redis and else "json",
  /// without them "bytes" ("text" for lines).
  std::string format = {};
  /// JSON, as RecordFormat has it.
  std::string fields = {};
  /// For files: each file is a record, and not each line.
  bool whole_files = false;
  /// For Parquet and Arrow files: their rows are the records.
  std::optional<RowRequest> rows = {};
  /// For Kafka: the partitions of the topic that are read, in increasing order; all if empty.
  std::vector<size_t> partitions = {};
  StorageOptions storage = {};  ///< of files; and of brokers, as broker_options.h has them
};

/// InvalidArgument, with the way out, where partitions of such a log cannot be chosen.
Status check_choice_of_partitions(std::string_view url);

/// The one place that knows the schemes of logs. Unsupported for those that are none, and for those
/// whose client library this build is without, which it names. Looks at files and asks Kafka for
/// its partitions (up to half a minute, then Unavailable); asks nobody else.
Result<std::shared_ptr<const RecordLog>> open_log(const LogAddress& address, std::stop_token stop = {});

}  // namespace forebay
