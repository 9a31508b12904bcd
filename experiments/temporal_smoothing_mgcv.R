# Curves of mgcv's bam on the data sets of temporal_smoothing.py, which calls this script:
#
#   Rscript experiments/temporal_smoothing_mgcv.R FOLDER FAMILY
#
# Every FOLDER/*.csv has columns y, time and one per covariate. The fit is y ~ s(time) + s(time, by = x) + ...
# with mgcv's defaults (ten thin plate splines per curve, method = "fREML", not discrete), rows independent.
# FOLDER/*.curves has the curves at the observed times and their standard errors; the versions are printed.

suppressPackageStartupMessages(library(mgcv))
arguments <- commandArgs(trailingOnly = TRUE)
family <- get(arguments[2])()

for (file in list.files(arguments[1], pattern = "[.]csv$", full.names = TRUE)) {
  data <- read.csv(file)
  covariates <- setdiff(names(data), c("y", "time"))
  terms <- c("s(time)", sprintf("s(time, by = %s)", covariates))
  model <- bam(reformulate(terms, "y"), family = family, data = data)

  grid <- data.frame(time = sort(unique(data$time)))
  grid[covariates] <- 1
  rows <- predict(model, grid, type = "lpmatrix")
  found <- data.frame(time = grid$time)
  for (k in seq_along(model$smooth)) {
    own <- model$smooth[[k]]$first.para:model$smooth[[k]]$last.para
    if (k == 1) own <- c(1, own)  # the curve of the intercept is centred: its level is the first coefficient
    name <- c("Intercept", covariates)[k]
    found[[name]] <- drop(rows[, own] %*% coef(model)[own])
    found[[paste0("se_", name)]] <- sqrt(rowSums((rows[, own] %*% vcov(model)[own, own]) * rows[, own]))
  }
  write.csv(found, sub("[.]csv$", ".curves", file), row.names = FALSE)
}
cat(R.version.string, "with mgcv", as.character(packageVersion("mgcv")), "\n")
