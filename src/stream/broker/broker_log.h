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

/// A log of a broker as the module with its client library reads it: nobody has looked into the
/// payloads yet. The functions promise what those of RecordLog promise. Immutable; from any thread.
class BrokerLog {
 public:
  virtual ~BrokerLog() = default;

  virtual const std::vector<std::string>& partitions() const = 0;
  virtual std::string name() const = 0;
  /// Without the format of payloads.
  virtual std::string identity() const { return name(); }
  virtual Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const = 0;
  virtual Result<std::vector<std::string>> ends(std::stop_token stop) const = 0;
  virtual int compare(const std::string& a, const std::string& b) const = 0;
  virtual Status check_offset(const std::string& offset) const = 0;
  virtual std::string place_of(const LogRecord& record) const {
    return partitions()[record.partition] + " " + record.offset;
  }
};

// The functions that modules export, under the name forebay_BROKER_log_v1. The number changes
// whenever one of these types, BrokerLog, LogReader or an address does.
using MadeBrokerLog = std::shared_ptr<const BrokerLog>;
using MakeRedisLog = void(RedisAddress address, MadeBrokerLog& made);
using MakeNatsLog = void(NatsAddress address, MadeBrokerLog& made);
/// Waits for a cluster that is away, and tells of it once.
using OpenKafkaLog = void(KafkaAddress address, std::stop_token stop, std::chrono::milliseconds tell_after,
                          void (*tell)(const std::string& line), Result<MadeBrokerLog>& opened);

}  // namespace forebay
