#pragma once

#include <memory>
#include <string>
#include <vector>

#include "brokers/kafka/kafka_client.h"
#include "stream/polling_reader.h"

namespace forebay {

/// Reads partitions of a topic. The library fetches a bounded number of bytes ahead.
class KafkaReader final : public PollingReader {
 public:
  struct Partition {
    size_t partition = 0;   ///< index in the log
    int32_t number = 0;     ///< number in the topic
    int64_t position = -1;  ///< of the last message returned; -1: read from the first
    bool known_from_first = false;
    bool started = false;
  };

  KafkaReader(KafkaAddress address, std::vector<Partition> partitions)
      : PollingReader(StreamClock::real()), address_(std::move(address)), partitions_(std::move(partitions)) {}
  /// Stops fetching, even if payloads still in use keep the client alive.
  ~KafkaReader() override;
  KafkaReader(const KafkaReader&) = delete;
  KafkaReader& operator=(const KafkaReader&) = delete;

  std::string trouble() const override { return client_ ? client_->trouble() : ""; }

 private:
  Status poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
              std::vector<LogRecord>& records) override;
  Time next_poll(size_t) override;
  // Whether reading goes on after records that were read before, so that trimmed ones are a gap.
  static bool resumes(const Partition& from) { return from.position >= 0 || from.known_from_first; }
  Status read_partition(Partition& from, const Limits& limits, uint64_t& bytes, const std::stop_token& stop,
                        std::vector<LogRecord>& out);
  /// Handles an offset that does not exist.
  Status find_position(Partition& from, const std::stop_token& stop);
  /// Checks whether the servers answer again.
  void check_trouble(const std::stop_token& stop);

  const KafkaAddress address_;
  std::vector<Partition> partitions_;
  std::shared_ptr<KafkaClient> client_;
  /// Index of the first wanted partition; it rotates.
  size_t first_ = 0;
  Time check_again_{};
};

}  // namespace forebay
