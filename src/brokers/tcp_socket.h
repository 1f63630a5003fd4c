#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>

#include "cluster/address.h"
#include "store/local/local_file.h"

namespace forebay {

/// A TCP connection. Every wait ends soon after a stop (Cancelled) or at a deadline (Unavailable).
/// Used by one thread.
class TcpSocket {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// Resolves the name and tries its addresses one after another. Unavailable says why none worked.
  static Result<TcpSocket> connect(const HostPort& host, Deadline deadline, const std::stop_token& stop);

  Status send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop);
  /// Receives at least one byte into `into`. Unavailable also if the peer has closed the
  /// connection.
  Result<size_t> receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop);

  // For protocols on top of the connection: the non-blocking descriptor, and waits until it can be
  // read or written.
  int descriptor() const { return socket_.get(); }
  Status wait_to_read(Deadline deadline, const std::stop_token& stop) const;
  Status wait_to_write(Deadline deadline, const std::stop_token& stop) const;

 private:
  FileDescriptor socket_;
};

}  // namespace forebay
