#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "stream/broker/kafka_address.h"
#include "stream/broker/nats_address.h"
#include "stream/broker/redis_address.h"
#include "stream/record_log.h"

namespace forebay {

/// A log of a broker, as the module with the broker's client library reads it. Its payloads are not
/// parsed yet; FormattedLog (broker_logs.cc) makes a RecordLog of it. The functions have the
/// contracts of RecordLog's. Immutable; may be used from any thread.
class BrokerLog {
 public:
  virtual ~BrokerLog() = default;

  virtual const std::vector<std::string>& partitions() const = 0;
  virtual std::string name() const = 0;
  /// RecordLog::identity() without the format of the payloads.
  virtual std::string identity() const { return name(); }
  virtual Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const = 0;
  virtual Result<std::vector<std::string>> ends(std::stop_token stop) const = 0;
  virtual int compare(const std::string& a, const std::string& b) const = 0;
  virtual Status check_offset(const std::string& offset) const = 0;
  virtual std::string place_of(const LogRecord& record) const {
    return partitions()[record.partition] + " " + record.offset;
  }
};

/// The module's client library and its version, such as "hiredis 1.1.0". Modules export it under the
/// name forebay_BROKER_client_v1.
using BrokerClient = const char*();

// The functions that modules export, under the name forebay_BROKER_log_v1. The number changes
// whenever one of these types, BrokerLog, LogReader or an address changes.
using MadeBrokerLog = std::shared_ptr<const BrokerLog>;
using MakeRedisLog = void(RedisAddress address, MadeBrokerLog& made);
using MakeNatsLog = void(NatsAddress address, MadeBrokerLog& made);
/// Waits for an unavailable cluster. Calls `tell` once, after `tell_after` or as soon as the client
/// library reports a problem.
using OpenKafkaLog = void(KafkaAddress address, std::stop_token stop, std::chrono::milliseconds tell_after,
                          void (*tell)(const std::string& line), Result<MadeBrokerLog>& opened);

}  // namespace forebay
