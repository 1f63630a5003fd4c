#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "brokers/connected_reader.h"
#include "brokers/redis/redis_answers.h"
#include "brokers/redis/redis_connection.h"

namespace forebay {

/// Reads streams of one server over one connection with XREAD, without consumer groups: nothing on
/// the server changes.
class RedisReader final : public ConnectedReader {
 public:
  struct Stream {
    size_t partition = 0;
    StreamId position;  ///< of the last entry returned
    bool known_from_first = false;
    TrimWatch watch = {};
    bool checked = false;  ///< the position was checked on this connection
    EndWatch end = {};
    bool quiet = false;        ///< it gave no entry since the last check of its end
    bool nothing_read = true;  ///< no entry was read yet
  };

  RedisReader(RedisAddress address, std::vector<Stream> streams)
      : ConnectedReader(address.name, address.host.to_string()), address_(std::move(address)),
        streams_(std::move(streams)) {}

  std::string trouble() const override;

 private:
  using Deadline = TcpSocket::Deadline;
  /// New entries of one stream, at least one.
  struct ReadEntries {
    Stream* stream = nullptr;
    std::vector<LogRecord> records = {};
    std::vector<StreamId> ids = {};
  };

  bool is_connected() const override { return connection_.has_value(); }
  Status connect(bool again, const std::stop_token& stop) override;
  void disconnect() override { connection_.reset(); }
  /// Reads once: checks unchecked positions, sends one XREAD, and finds out what was trimmed before
  /// its entries.
  Status read_round(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                    std::vector<LogRecord>& out) override;
  /// Checks now and then whether streams without new entries still end at or after their position.
  Status check_ends(const std::vector<Stream*>& streams, const std::stop_token& stop);
  Status check_end(Stream& stream, const StreamInfo& info);
  Status check_positions(const std::vector<Stream*>& streams, const std::stop_token& stop);
  Result<std::vector<StreamInfo>> request_infos(const std::vector<Stream*>& streams, const std::stop_token& stop);
  Result<const RedisReply*> request_entries(const std::vector<Stream*>& streams, const Limits& limits,
                                            const std::stop_token& stop);
  std::string count_limit(const Limits& limits, size_t streams) const;
  RedisCommands xread_command(const std::vector<Stream*>& streams, const Limits& limits) const;
  /// Returns the entries of a reply to XREAD. Corrupt if it has others than those of `streams`.
  Result<std::vector<ReadEntries>> take_entries(const RedisReply& reply, const std::vector<Stream*>& streams);
  static ReadEntries entries_of(Stream& stream, const StreamEntries& answered, const RedisReply& reply);
  void update_entry_bytes(uint64_t reply_bytes, uint64_t entries);
  /// Delivers the entries, and advances the position of their stream.
  void accept(ReadEntries& read, const StreamInfo& info, std::vector<LogRecord>& out);
  void note_gap(const Stream& stream, const TrimWatch::Missing& missing);
  const std::string& name_of(const Stream& stream) const { return address_.streams[stream.partition]; }

  const RedisAddress address_;
  std::vector<Stream> streams_;
  std::optional<RedisConnection> connection_;
  Deadline next_end_check_{};
  uint64_t entry_bytes_ = 64 << 10;  ///< estimated size of an entry
  std::string absent_stream_;        ///< a stream that did not exist when reading began; or empty
  std::string ends_before_message_;  ///< trouble() with a stream that ends too early; or empty
};

}  // namespace forebay
