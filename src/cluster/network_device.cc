#include "cluster/network_device.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "base/folder_entries.h"

namespace forebay {

namespace {

// Empty for what is neither IPv4 nor IPv6.
std::string numeric_text(const sockaddr* address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return {};
  const socklen_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text.data();
}

std::string looked_up(const std::string& host) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return {};
  std::string text = numeric_text(found->ai_addr);
  ::freeaddrinfo(found);
  return text;
}

std::string interface_of(const std::string& address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string name;
  for (const ifaddrs* each = all; each != nullptr && name.empty(); each = each->ifa_next)
    if (numeric_text(each->ifa_addr) == address) name = each->ifa_name;
  ::freeifaddrs(all);
  return name;
}

// Ports of one adapter are told apart by dev_port, which counts from 0; RDMA's ports count from 1. A VLAN over a bond has two floors below it.
void add_rdma_ports(const std::string& interface, int floors, std::vector<std::string>* ports) {
  constexpr std::string_view kBelow = "lower_";
  const std::filesystem::path folder = std::filesystem::path("/sys/class/net") / interface;
  int port = 0;
  std::ifstream(folder / "dev_port") >> port;
  for (const std::filesystem::path& device : entries_of(folder / "device" / "infiniband"))
    ports->push_back(fmt::format("{}:{}", device.filename().string(), port + 1));
  if (floors == 0) return;
  for (const std::filesystem::path& entry : entries_of(folder)) {
    const std::string name = entry.filename().string();
    if (name.starts_with(kBelow)) add_rdma_ports(name.substr(kBelow.size()), floors - 1, ports);
  }
}

}  // namespace

std::string network_devices(const std::string& host) {
  const std::string address = looked_up(host);
  std::string devices = address.empty() ? std::string() : interface_of(address);
  devices = devices.substr(0, devices.find(':'));  // "eth0:1" is a second address of eth0
  if (devices.empty()) return devices;
  std::vector<std::string> ports;
  add_rdma_ports(devices, /*floors=*/2, &ports);
  std::ranges::sort(ports);
  for (const std::string& port : ports) devices += "," + port;
  return devices;
}

}  // namespace forebay
