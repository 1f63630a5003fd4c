#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/server/client_session.h"
#include "serve/server/together.h"

namespace forebay {

/// The figures of a server at one moment.
struct ServerStatus {
  std::vector<ClientStatus> clients;  ///< those with a loader
  int64_t clients_served = 0;         ///< since the server began
  std::string socket;                 ///< path of the socket
  double seconds = 0;                 ///< since the server began
  int threads = 0;                    ///< compute threads
  uint64_t batch_memory_bytes = 0;    ///< memory of the batches that exist
  TogetherCounts together;
};

/// Returns the status as JSON, described in docs/reference/shared.md. Bytes that are not UTF-8
/// become U+FFFD.
std::string to_json_text(const ServerStatus& status);

}  // namespace forebay
