#pragma once

#include <string>

#include "stream/backoff.h"
#include "stream/polling_reader.h"

namespace forebay {

/// Reads a broker's log over one connection, which it restores, with pauses that grow (Backoff),
/// whenever it is lost. Derived classes speak the protocol.
class ConnectedReader : public PollingReader {
 public:
  std::string trouble() const override { return trouble_; }

 protected:
  /// `log`: the name of the log, for errors. `server`: the name of the server, for trouble().
  ConnectedReader(std::string log, std::string server, StreamClock& clock = StreamClock::real())
      : PollingReader(clock), log_(std::move(log)), server_(std::move(server)) {}

  virtual bool is_connected() const = 0;
  /// Connects. `again`: the reader was connected before. An error other than Unavailable ends the
  /// reading.
  virtual Status connect(bool again, const std::stop_token& stop) = 0;
  virtual void disconnect() = 0;
  /// Reads once over the connection; may wait as long as `limits` says. An error ends the
  /// connection, and any but Unavailable also ends the reading.
  virtual Status read_round(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                            std::vector<LogRecord>& records) = 0;

 private:
  Status poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
              std::vector<LogRecord>& records) final;
  Time next_poll(size_t) final { return is_connected() ? clock_.now() : try_again_; }

  const std::string log_, server_;
  Backoff backoff_;
  Time try_again_{};
  bool was_connected_ = false;
  std::string trouble_;
};

}  // namespace forebay
