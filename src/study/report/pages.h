#pragma once

#include <string>

#include "forebay/diagnosis.h"
#include "forebay/ledger.h"
#include "forebay/profile.h"
#include "forebay/simulation.h"
#include "page/page.h"
#include "study/report/run_history.h"

namespace forebay {

/// What a loader did. `subject`: what people call its pipeline; `history` may be empty: then there are no curves.
Page run_page(const Ledger& ledger, const RunHistory& history, const std::string& subject);
/// What was found, with the ranges of all that was measured.
Page diagnosis_page(const Diagnosis& diagnosis, const std::string& subject);
/// What each strategy that was tried is like.
Page profile_page(const Profile& profile, const std::string& subject);
/// What each way of loading would give.
Page simulation_page(const Simulation& simulation, const std::string& subject);

}  // namespace forebay
