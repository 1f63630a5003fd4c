#include "brokers/redis/stream_id.h"

#include <fmt/format.h>

#include "stream/number_offset.h"

namespace forebay {

std::string StreamId::to_string() const { return fmt::format("{}-{}", ms, sequence); }

std::optional<StreamId> StreamId::parse(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto ms = number_of_offset(text.substr(0, dash)), sequence = number_of_offset(text.substr(dash + 1));
  if (!ms || !sequence) return std::nullopt;
  return StreamId{*ms, *sequence};
}

}  // namespace forebay
