#include "cluster/transport.h"

#include <future>
#include <utility>

namespace forebay {

uint64_t response_bytes(const Response& response) {
  uint64_t bytes = 0;
  for (const Buffer& piece : response) bytes += piece.size();
  return bytes;
}

Result<Buffer> call_and_wait(Transport& transport, const PeerHost& host, std::string_view service, Buffer request,
                             const CallLimits& limits, const std::stop_token& stop) {
  std::promise<Result<Buffer>> answered;
  transport.call(host, service, std::move(request), limits, stop,
                 [&](Result<Buffer> answer) { answered.set_value(std::move(answer)); });
  return answered.get_future().get();
}

}  // namespace forebay
