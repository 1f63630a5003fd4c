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

/// A log and a way to write to it. Its records have `bytes` as their first field.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  virtual std::shared_ptr<const RecordLog> log() = 0;
  /// Appends one record per payload, in this order.
  virtual void append(size_t partition, const std::vector<std::string>& payloads) = 0;
};

/// Describes how to test one kind of log. log_conformance_test.cc tests every promise of RecordLog
/// on it.
struct LogDriver {
  std::string name;
  /// Makes a new, empty log of that many partitions. Null if the driver's server is not running:
  /// its tests are skipped, or fail with FOREBAY_REQUIRE_SERVERS=1.
  std::function<std::unique_ptr<LogUnderTest>(size_t partitions)> make;
  size_t max_partitions = 4;
  size_t many_records = 100'000;  ///< records of 3 KB in the test that compares many
};
inline void PrintTo(const LogDriver& driver, std::ostream* out) { *out << driver.name; }

/// Longer than anything that succeeds takes.
constexpr std::chrono::seconds kPatience{30};

/// The first field of a record. Its bytes are fetched first if the log needs that.
std::string text_of(const RecordLog& log, const LogRecord& record);

/// Reads exactly `count` records of these partitions, which may be some of the reader's. Fails the
/// test if they do not arrive.
std::vector<LogRecord> read_count(LogReader& reader, const std::vector<size_t>& partitions, size_t count);

/// Positions of the partitions 0, 1, … of the log: at the beginning, or after `after`.
std::vector<LogPosition> positions_of(const RecordLog& log, const std::vector<std::string>& after = {});
std::vector<size_t> partitions_of(const RecordLog& log);

/// Reads from a log that gives nothing, and requests a stop from another thread once the read has
/// begun. Fails unless the stop ends the read: it would go on for weeks. `yields`: how often the
/// other thread yields at most before it stops, so that the read is likely to wait by then.
void expect_stop_ends_read(LogReader& reader, int yields = 10'000);

class LogConformance : public testing::TestWithParam<LogDriver> {
 protected:
  /// Makes the log under test. False if the driver has no server: the caller then skips the test.
  bool begin(size_t partitions = 1);
  std::unique_ptr<LogReader> reader(const std::vector<std::string>& after = {}) const;

  std::unique_ptr<LogUnderTest> log_under_test_;
  std::shared_ptr<const RecordLog> log_;
};

}  // namespace forebay::conformance
