#include "cluster/run_terms.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/message.h"

namespace forebay {

namespace {

// Service "run", response, version 1.
constexpr std::string_view kRunResponse = "fbrunrs1";

}  // namespace

Status RunTerms::check_same(int rank, const RunTerms& leader) const {
  std::string differs, advice;
  for (const Term& own : terms) {
    const auto found = std::ranges::find(leader.terms, own.name, &Term::name);
    if (found == leader.terms.end()) continue;  // rank 0 has another version
    if (found->value == own.value) continue;
    differs += fmt::format("{}{}={} (rank 0: {})", differs.empty() ? "" : ", ", own.name, own.value, found->value);
    if (advice.empty() && !own.advice.empty()) advice = "; " + own.advice;
  }
  if (differs.empty()) return {};
  return {Code::kStateMismatch,
          fmt::format("rank {} has other settings than rank 0: {}; give all ranks the same{}", rank, differs, advice)};
}

Buffer encode_run(const std::optional<RunTerms>& terms) {
  MessageFields out(kRunResponse);
  out.put(uint8_t{terms.has_value()});
  if (terms) {
    for (const RunTerms::Term& term : terms->terms) {
      out.put_text(term.name);
      out.put_text(term.value);
    }
  }
  return out.done();
}

Result<std::optional<RunTerms>> parse_run(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kRunResponse));
  ByteReader in(fields);
  const bool is_set = in.take<uint8_t>() != 0;
  RunTerms terms;
  while (is_set && in.left() > 0) {
    std::string name = in.take_text();
    terms.terms.push_back({std::move(name), in.take_text()});
  }
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  return is_set ? std::optional(std::move(terms)) : std::nullopt;
}

}  // namespace forebay
