#include "cluster/run_terms.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/message.h"

namespace forebay {

namespace {

constexpr std::string_view kRunMessage = "fbrunrs1";

}  // namespace

Status RunTerms::check_same(int rank, const RunTerms& leader) const {
  std::string differs, advice;
  for (const Term& own : terms) {
    const auto found = std::ranges::find(leader.terms, own.name, &Term::name);
    if (found == leader.terms.end() || found->value == own.value) continue;
    differs += fmt::format("{}{}={} ({} there)", differs.empty() ? "" : ", ", own.name, own.value, found->value);
    if (advice.empty() && !own.advice.empty()) advice = "; " + own.advice;
  }
  if (differs.empty()) return {};
  return {Code::kStateMismatch,
          fmt::format("rank {} has another run than rank 0: {}; give all ranks the same{}", rank, differs, advice)};
}

Buffer encode_run(const std::optional<RunTerms>& terms) {
  MessageFields out(kRunMessage);
  out.put(uint8_t{terms.has_value()});
  for (const RunTerms::Term& term : terms ? terms->terms : std::vector<RunTerms::Term>()) {
    out.put_text(term.name);
    out.put_text(term.value);
  }
  return out.done();
}

Result<std::optional<RunTerms>> parse_run(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kRunMessage));
  ByteReader in(fields);
  const bool known = in.take<uint8_t>() != 0;
  RunTerms read;
  while (known && in.left() > 0) {
    std::string name = in.take_text();
    read.terms.push_back({std::move(name), in.take_text()});
  }
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  return known ? std::optional(std::move(read)) : std::nullopt;
}

}  // namespace forebay
