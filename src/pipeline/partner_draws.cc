#include "pipeline/partner_draws.h"

#include <utility>

namespace forebay {

PartnerDraws::PartnerDraws(int64_t draws, std::vector<Part> parts) : draws_(draws), parts_(std::move(parts)) {}

int64_t PartnerDraws::joined(int64_t id, int64_t pass, int64_t place) const {
  const int64_t draw = pass * draws_ + place;
  for (const Part& part : parts_) {
    const int64_t size = part.order->size();
    id += part.stride * part.selection->id_at(part.order->id_at(draw / size, draw % size));
  }
  return id;
}

}  // namespace forebay
