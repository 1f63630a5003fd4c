#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>

#include "cluster/address.h"
#include "forebay/result.h"
#include "forebay/status.h"
#include "store/local/local_file.h"  // FileDescriptor

namespace forebay {

/// A TCP connection. Every wait ends soon after a stop (Cancelled) or at a deadline (Unavailable).
/// Used by one thread.
class TcpSocket {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// Resolves the name and tries its addresses one after another. Unavailable
  /// gives the error of the last address.
  static Result<TcpSocket> connect(const HostPort& host, Deadline deadline, const std::stop_token& stop);

  /// Sends all of `bytes`. After an error the peer may have received a part; close the connection.
  Status send(std::span<const uint8_t> bytes, Deadline deadline, const std::stop_token& stop);
  /// Receives at least one byte into `into`, which must not be empty. Unavailable also if the peer
  /// has closed the connection.
  Result<size_t> receive(std::span<uint8_t> into, Deadline deadline, const std::stop_token& stop);

  // For protocols on top of the connection: the non-blocking descriptor, and waits until it can be
  // read or written.
  int descriptor() const { return socket_.get(); }
  Status wait_readable(Deadline deadline, const std::stop_token& stop) const;
  Status wait_writable(Deadline deadline, const std::stop_token& stop) const;

 private:
  explicit TcpSocket(FileDescriptor socket) : socket_(std::move(socket)) {}

  FileDescriptor socket_;
};

}  // namespace forebay
