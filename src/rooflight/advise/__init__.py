"""What follows from an analysis: claims and measurements judged against their ceilings."""
