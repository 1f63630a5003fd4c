#pragma once

#include <string>

#include "forebay/diagnosis.h"
#include "forebay/profile.h"
#include "forebay/simulation.h"
#include "page/page.h"
#include "study/report/run_history.h"

namespace forebay {

struct Ledger;

// Pages of --report and report(path). `subject` names the pipeline.

/// Shows the figures of a loader. An empty `history` shows no curves.
Page run_page(const Ledger& ledger, const RunHistory& history, const std::string& subject);
/// Shows a diagnosis, with the ranges of all measurements.
Page diagnosis_page(const Diagnosis& diagnosis, const std::string& subject);
/// Shows the strategies that were tried.
Page profile_page(const Profile& profile, const std::string& subject);
/// Shows the simulated ways of loading.
Page simulation_page(const Simulation& simulation, const std::string& subject);

}  // namespace forebay
