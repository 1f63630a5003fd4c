#pragma once

#include <stop_token>

#include "brokers/tcp_socket.h"
#include "stream/broker/nats_address.h"

namespace forebay {

/// Whether one of the servers says in its greeting that it wants a certificate of its clients: the library does not tell, and one that is turned away for want of it is
/// told nothing else. False, too, where none greets in time.
bool wants_client_certificate(const NatsAddress& address, TcpSocket::Deadline deadline);

}  // namespace forebay
