#pragma once

#include <cstddef>
#include <memory>

#include "pipeline/run/units.h"

namespace forebay {

/// One of a unit's reads. While it lives, others wait for the unit instead of reading it as well.
class Units::Arrival final : public Flight {
  const std::shared_ptr<void> alive_;  // goes last
  Units& units_;

 public:
  Arrival(Units& units, std::shared_ptr<Unit> of, const Unit::Reading& reading, StoreLine& line)
      : Flight(line, reading.place.requests[reading.asked], Claim()), alive_(units.core_.alive()), units_(units),
        unit(std::move(of)), piece(reading.asked), bytes(reading.claim), work_(units.at_work(*unit)) {}

  const std::shared_ptr<Unit> unit;
  const size_t piece;
  std::shared_ptr<Claim> bytes;  ///< Unit::Reading::claim; the unit may have another one by now

 private:
  void landed(Result<Buffer> result) override { units_.on_read(*this, std::move(result)); }

  const std::unique_ptr<SharedUnits::Work> work_;  // ends when decoding has begun, or waits for its turn
};

}  // namespace forebay
