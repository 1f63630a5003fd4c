#include "ops/image/unrepresentable_elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/element_types.h"

namespace forebay {
namespace {

template <typename From, typename To>
constexpr bool kAlwaysFits = [] {
  if constexpr (kIsFloat<To> || std::is_same_v<To, bool> || std::is_same_v<From, bool>) {
    return true;
  } else if constexpr (kIsFloat<From>) {
    return false;
  } else {
    return std::in_range<To>(std::numeric_limits<From>::min()) && std::in_range<To>(std::numeric_limits<From>::max());
  }
}();

/// The range of a floating type that To can hold: low <= x < high, or low < x < high.
template <typename To, typename From>
struct FloatEnds {
  // 2^digits is exact in every floating type; the type's largest value may not be.
  explicit FloatEnds(Rounding rounding) : high(std::ldexp(From{1}, std::numeric_limits<To>::digits)) {
    const auto least = static_cast<From>(std::numeric_limits<To>::min());
    if (rounding == Rounding::kHalfToEven) {  // the least value is even, the largest odd
      low = least - From{0.5};
      high -= From{0.5};
    } else {
      // Everything above `least - 1` truncates into range. If From cannot represent `least - 1`,
      // the bound is `least`.
      const From below = least - 1;
      low = std::nextafter(below, From{0});
      if (below == least) low = least;
    }
  }
  // This is as wide as the elements, so that the loop vectorizes at one width.
  using Mark = std::conditional_t<sizeof(From) == 8, uint64_t, uint32_t>;
  Mark mark(From x) const { return (x >= low ? Mark{0} : Mark{1}) | (x < high ? Mark{0} : Mark{1}); }
  bool hold(Mark marks) const { return marks == 0; }
  From low, high;
};

/// The range of an integer type that To can hold. low to high is always a power of two of numbers,
/// so a bit test of x - low is enough; 64-bit comparisons are slow in vectors where they exist at
/// all.
template <typename To, typename From>
struct IntegerEnds {
  explicit IntegerEnds(Rounding) {}
  using Mark = std::make_unsigned_t<From>;
  Mark mark(From x) const { return static_cast<Mark>(static_cast<Mark>(x) - static_cast<Mark>(low)); }
  bool hold(Mark marks) const { return (marks & ~static_cast<Mark>(high - low)) == 0; }
  From low = std::cmp_less(std::numeric_limits<From>::min(), std::numeric_limits<To>::min())
                 ? static_cast<From>(std::numeric_limits<To>::min())
                 : std::numeric_limits<From>::min();
  From high = std::cmp_greater(std::numeric_limits<From>::max(), std::numeric_limits<To>::max())
                  ? static_cast<From>(std::numeric_limits<To>::max())
                  : std::numeric_limits<From>::max();
};

template <typename From, typename Ends>
bool all_fit(const From* in, int64_t n, const Ends& ends) {
  typename Ends::Mark marks = 0;
  // Tests a whole block without branches; the caller then searches only a block that has such an
  // element.
  for (int64_t i = 0; i < n; ++i) marks |= ends.mark(widen(in[i]));
  return ends.hold(marks);
}

template <typename From, typename Ends>
std::optional<int64_t> find_unrepresentable(const uint8_t* in, int64_t n, const Ends& ends) {
  constexpr int64_t kBlock = 256;
  std::array<From, kBlock> copy;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    const uint8_t* at = in + begin * static_cast<int64_t>(sizeof(From));
    const auto* block = reinterpret_cast<const From*>(at);
    // Stored bytes may be unaligned, so they are copied before they are read as wider elements.
    if (!is_aligned<From>(at)) {
      std::memcpy(copy.data(), at, static_cast<size_t>(count) * sizeof(From));
      block = copy.data();
    }
    if (all_fit(block, count, ends)) continue;
    const From* found = std::find_if_not(block, block + count, [&](From x) { return ends.hold(ends.mark(widen(x))); });
    return begin + (found - block);
  }
  return std::nullopt;
}

template <typename To>
std::string ends_text() {
  return fmt::format("{} to {}", std::numeric_limits<To>::min(), std::numeric_limits<To>::max());
}

}  // namespace

bool always_fits(DType from, DType to) {
  return with_element(
      from, [&](auto a) { return with_element(to, [&](auto b) { return kAlwaysFits<decltype(a), decltype(b)>; }); });
}

std::optional<int64_t> first_unrepresentable(DType from, const uint8_t* in, DType to, int64_t n, Rounding rounding) {
  return with_element(from, [&](auto a) {
    return with_element(to, [&](auto b) -> std::optional<int64_t> {
      using From = decltype(a);
      using To = decltype(b);
      if constexpr (kAlwaysFits<From, To>) {
        return std::nullopt;
      } else {
        using Number = decltype(widen(a));
        using Ends = std::conditional_t<kIsFloat<From>, FloatEnds<To, Number>, IntegerEnds<To, Number>>;
        return find_unrepresentable<From>(in, n, Ends(rounding));
      }
    });
  });
}

std::string describe_unrepresentable(DType from, const uint8_t* in, DType to, int64_t index, bool alone) {
  const std::string value =
      with_element(from, [&](auto a) { return fmt::format("{}", widen(load_element<decltype(a)>(in, index))); });
  const std::string ends = with_element(to, [](auto b) {
    if constexpr (kIsFloat<decltype(b)>) {
      return std::string();
    } else {
      return ends_text<decltype(b)>();
    }
  });
  return fmt::format("{}{}, and {} goes from {}", value, alone ? "" : fmt::format(" at element {}", index),
                     dtype_name(to), ends);
}

}  // namespace forebay
