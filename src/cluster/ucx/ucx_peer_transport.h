#pragma once

#include <memory>

#include "cluster/transport.h"
#include "cluster/ucx/ucx_server.h"
#include "forebay/result.h"

namespace forebay {

struct UcxPeerOptions {
  UcxServer::Options server = {};
  std::shared_ptr<Transport> meeting = nullptr;  ///< null: HTTP
};

/// Peers by active messages of UCX, for hosts with InfiniBand and the like: it finds out by itself which ways lead from host to host, and which is fastest. Hosts get each
/// other's cards (active_messages.h) over another transport, at the address that is listened at: that one looks at passes, logs strangers, and answers hosts which
/// speak no UCX. A host that has no card is asked over it, too.
///
/// Uses the device that has the address which is listened at, and RDMA ports of the same adapter, unless UCX_NET_DEVICES names others. Nothing is encrypted. UCX tells of
/// a partition late or never, so that every question has its limits here.
///
/// Unsupported, with the way out, where Forebay was built without UCX or UCX's libraries are not there.
Result<std::shared_ptr<Transport>> ucx_peer_transport(const UcxPeerOptions& options = {});

}  // namespace forebay
