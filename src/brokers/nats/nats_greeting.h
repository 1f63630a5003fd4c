#pragma once

#include <stop_token>

#include "brokers/tcp_socket.h"
#include "stream/broker/nats_address.h"

namespace forebay {

/// Returns whether a server's greeting says that it requires client certificates. The library does
/// not report this, and a client refused for lack of one is told nothing else. False also if no
/// server sends a greeting in time.
bool wants_client_certificate(const NatsAddress& address, TcpSocket::Deadline deadline);

}  // namespace forebay
