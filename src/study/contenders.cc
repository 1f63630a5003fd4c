#include "study/contenders.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "study/observation.h"

namespace forebay {

namespace {

constexpr size_t kMaxContenders = 4;
constexpr double kMaxContenderBytes = 1.5e9;  // most bytes of their caches together
constexpr double kNearlyAsFast = 0.65;        // trials are rarely further off
constexpr int kContests = 5;
constexpr TrialLength kContest{.windows = 1, .window_seconds = 0.3};

}  // namespace

void Contenders::add(Contender contender) {
  const auto slower = std::find_if(contenders_.begin(), contenders_.end(),
                                   [&](const Contender& other) { return other.rate < contender.rate; });
  // Contenders are not assignable, so the vector is rebuilt.
  std::vector<Contender> kept;
  std::move(contenders_.begin(), slower, std::back_inserter(kept));
  kept.push_back(std::move(contender));
  std::move(slower, contenders_.end(), std::back_inserter(kept));
  double bytes = 0;
  size_t stay = 0;
  while (stay < std::min(kept.size(), kMaxContenders) && (bytes += kept[stay].bytes) <= kMaxContenderBytes) ++stay;
  while (kept.size() > stay) kept.pop_back();
  contenders_.swap(kept);
}

Result<std::map<std::string, double>> Contenders::compare(const TrialContext& context,
                                                          const std::function<bool()>& goes_on) const {
  std::map<std::string, double> rates;
  const auto near =
      static_cast<size_t>(std::count_if(contenders_.begin(), contenders_.end(), [&](const Contender& one) {
        return one.rate >= kNearlyAsFast * contenders_.front().rate;
      }));
  if (near < 2) return rates;
  std::vector<double> shares(near);
  double scale = 0;
  for (size_t i = 0; i < near; ++i) scale += contenders_[i].rate;
  size_t rounds = 0;
  for (; rounds < kContests && (!goes_on || goes_on()); ++rounds) {
    std::vector<double> seen(near);
    double all = 0;
    for (size_t turn = 0; turn < near; ++turn) {
      // The order changes from round to round, and so does each one's predecessor.
      const size_t i = rounds % 2 == 0 ? (turn + rounds) % near : (2 * near - 1 - turn + rounds) % near;
      FOREBAY_ASSIGN(const Observation window, observe(*contenders_[i].loader, context, kContest));
      FOREBAY_RETURN_IF_ERROR(wait_until_idle(*contenders_[i].loader, context));
      all += seen[i] = window.rates.front();
    }
    // Shares within a round instead of rates: the machine's drift affects all alike.
    for (size_t i = 0; i < near; ++i) shares[i] += seen[i] / all;
  }
  for (size_t i = 0; rounds > 0 && i < near; ++i)
    rates[contenders_[i].name] = shares[i] / static_cast<double>(rounds) * scale;
  return rates;
}

}  // namespace forebay
