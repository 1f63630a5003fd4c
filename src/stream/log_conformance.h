#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/record_log.h"

namespace forebay::conformance {

/// A log with somebody who writes to it. Its records have `bytes` as their first field.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  virtual std::shared_ptr<const RecordLog> log() = 0;
  /// One record each, in this order.
  virtual void append(size_t partition, const std::vector<std::string>& payloads) = 0;
};

/// How a log takes part: every promise in log_conformance_test.cc is tried on it.
struct LogDriver {
  std::string name;
  /// A new log, empty, of so many partitions. Null where the driver's server is not running: its
  /// tests are skipped, or fail with FOREBAY_REQUIRE_SERVERS=1.
  std::function<std::unique_ptr<LogUnderTest>(size_t partitions)> make;
  size_t most_partitions = 4;
  size_t many_records = 100'000;  ///< of 3 KB, for the test that compares many
};
inline void PrintTo(const LogDriver& driver, std::ostream* out) { *out << driver.name; }

/// Nothing that goes well takes as long.
constexpr std::chrono::seconds kPatience{30};

/// The first field of a record, its bytes fetched where that is needed.
std::string text_of(const RecordLog& log, const LogRecord& record);

/// All of these and not more, read by one reader of all partitions; fails the test when they do not
/// come.
std::vector<LogRecord> read_count(LogReader& reader, const std::vector<size_t>& wanted, size_t count);

/// The partitions 0, 1, … of the log, from the beginning or behind `after`.
std::vector<LogPosition> positions_of(const RecordLog& log, const std::vector<std::string>& after = {});
std::vector<size_t> partitions_of(const RecordLog& log);

class LogConformance : public testing::TestWithParam<LogDriver> {
 protected:
  /// Skips the test where the driver has no server.
  bool begin(size_t partitions = 1);
  std::unique_ptr<LogReader> reader(const std::vector<std::string>& after = {}) const;

  std::unique_ptr<LogUnderTest> world_;
  std::shared_ptr<const RecordLog> log_;
};

}  // namespace forebay::conformance
