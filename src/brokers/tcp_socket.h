#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>

#include "cluster/address.h"
#include "store/local/local_file.h"

namespace forebay {

/// A connection whose every wait ends soon after a stop (Cancelled) or at a deadline (Unavailable). For one thread.
class TcpSocket {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// Looks the name up, and tries its addresses one after the other. Unavailable says why.
  static Result<TcpSocket> connect(const HostPort& host, Deadline deadline, const std::stop_token& stop);

  Status send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop);
  /// Some bytes, one at least, into `into`. Unavailable, too, where the other side has closed.
  Result<size_t> receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop);

  /// For whoever speaks through it: the descriptor, which does not block, and when it has something to read or room to write.
  int descriptor() const { return socket_.get(); }
  Status wait_to_read(Deadline deadline, const std::stop_token& stop) const;
  Status wait_to_write(Deadline deadline, const std::stop_token& stop) const;

 private:
  FileDescriptor socket_;
};

}  // namespace forebay
