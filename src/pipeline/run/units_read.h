#pragma once

#include <cstddef>
#include <memory>

#include "pipeline/run/units.h"

namespace forebay {

/// One of a unit's reads. While it lives, others wait for the unit instead of reading it as well.
class Units::Read final : public Flight {
  const std::shared_ptr<void> alive_;  // goes last
  Units& units_;

 public:
  Read(Units& units, std::shared_ptr<Unit> of, StoreLine& line)
      : Flight(line, of->requests[of->asked], Claim()), alive_(units.core_.alive()), units_(units), unit(std::move(of)),
        reads(unit->reads), piece(unit->asked), work_(units.at_work(*unit)) {}

  const std::shared_ptr<Unit> unit;
  const std::shared_ptr<Unit::Reads> reads;  ///< those it belongs to; the unit may have others by now
  const size_t piece;

 private:
  void landed(Result<Buffer> result) override { units_.on_read(*this, std::move(result)); }

  const std::unique_ptr<SharedUnits::Work> work_;  // ends when decoding has begun, or waits for its turn
};

}  // namespace forebay
