#pragma once

#include <string>

namespace forebay {

/// The devices behind an address of this host, comma-separated: the network interface that has it ("eth0"), and the RDMA ports of the same adapter ("mlx5_0:1"), as
/// Linux names them; those below a bond or a VLAN, too. `host`: a name or an address; empty where no interface has it.
std::string network_devices(const std::string& host);

}  // namespace forebay
