#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brokers/redis/redis_answers.h"
#include "brokers/redis/redis_connection.h"
#include "stream/backoff.h"
#include "stream/record_log.h"

namespace forebay {

/// Reads streams of one server over one connection with XREAD, without consumer groups: nothing on
/// the server changes.
class RedisReader final : public LogReader {
 public:
  struct Stream {
    size_t partition = 0;
    StreamId position;  ///< of the last entry returned
    bool known_from_first = false;
    TrimWatch watch = {};
    bool checked = false;  ///< the position was checked on this connection
    EndWatch end = {};
    bool quiet = false;        ///< no entry since the last check of its end
    bool nothing_read = true;  ///< no entry was read yet
  };

  RedisReader(RedisAddress address, std::vector<Stream> streams)
      : address_(std::move(address)), streams_(std::move(streams)) {}

  Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                      std::stop_token stop) override;
  std::vector<LogGap> take_gaps() override { return std::exchange(gaps_, {}); }
  std::string troubled() const override;
  int64_t reconnects() const override { return reconnects_; }

 private:
  using Deadline = TcpSocket::Deadline;
  struct Taken {
    std::vector<LogRecord> records;
    std::vector<StreamId> ids;
  };

  Result<std::vector<Stream*>> find_streams(const std::vector<size_t>& wanted);
  Status connect(const std::stop_token& stop);
  /// Handles an error: Unavailable closes the connection and is reported by troubled(); other
  /// errors are returned.
  Status endure(Status error);
  /// Reads once: checks unchecked positions, sends one XREAD, and finds out what was trimmed before
  /// its entries.
  Status read_round(const std::vector<Stream*>& streams, const Limits& limits, Deadline until,
                    const std::stop_token& stop, std::vector<LogRecord>& out);
  /// Checks now and then whether streams without new entries still end at or after their position.
  Status check_ends(const std::vector<Stream*>& streams, const std::stop_token& stop);
  Status check_end(Stream& stream, const StreamInfo& info);
  Status check_positions(const std::vector<Stream*>& streams, const std::stop_token& stop);
  Result<std::vector<StreamInfo>> ask_infos(const std::vector<Stream*>& streams, const std::stop_token& stop);
  Result<const RedisReply*> ask_entries(const std::vector<Stream*>& streams, const Limits& limits, Deadline until,
                                        const std::stop_token& stop);
  Result<std::vector<Taken>> take_entries(const RedisReply& reply, std::vector<Stream*>& streams);
  void note_gap(const Stream& stream, const TrimWatch::Missing& missing);
  const std::string& name_of(const Stream& stream) const { return address_.streams[stream.partition]; }

  const RedisAddress address_;
  std::vector<Stream> streams_;
  std::optional<RedisConnection> connection_;
  Backoff backoff_;
  Deadline try_again_{}, look_again_{};
  uint64_t entry_bytes_ = 64 << 10;  ///< estimated size of an entry
  bool was_connected_ = false;
  int64_t reconnects_ = 0;
  std::string troubled_, absent_, ends_before_;
  std::vector<LogGap> gaps_;
};

}  // namespace forebay
